// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"math"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

const (
	// maxBytes is what all texts may have together that one evaluation makes. The largest that one is asked about, the
	// body of a hook, has three million.
	maxBytes = 64 << 20
	// callBytes is what a call costs beside its text, elementBytes an element of a list.
	callBytes, elementBytes = 64, 32
)

// purseName is the variable by which calls find their evaluation's purse. No expression can name it.
const purseName = "@purse"

// purse is what an evaluation may still spend.
type purse struct{ left int }

func (p *purse) spend(bytes int) bool {
	p.left -= min(bytes, maxBytes+1)
	return p.left >= 0
}

func tooLarge() ref.Val {
	return types.NewErr("it makes texts of more than %d bytes together", maxBytes)
}

// watched has calls pay.
func watched(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if call, ok := i.(interpreter.InterpretableCall); ok {
		return &payer{call}, nil
	}
	return i, nil
}

// payer is a call that pays for what it makes.
type payer struct{ interpreter.InterpretableCall }

// Eval implements interpreter.Interpretable.
func (p *payer) Eval(values interpreter.Activation) ref.Val {
	return p.Exec(interpreter.AsFrame(values))
}

// Exec implements interpreter.InterpretableV2.
func (p *payer) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	found, _ := frame.ResolveName(purseName)
	purse, ok := found.(*purse)
	if !ok {
		return tooLarge() // never: evaluations bring one
	}
	if !purse.spend(callBytes) || !purse.spend(p.ahead(frame)) {
		return tooLarge()
	}
	value := p.InterpretableCall.Exec(frame)
	if !purse.spend(sizeOf(value)) {
		return tooLarge()
	}
	return value
}

func sizeOf(value ref.Val) int {
	switch value := value.(type) {
	case types.String:
		return len(value)
	case types.Bytes:
		return len(value)
	}
	return 0
}

// ahead is what calls pay before they are made: those whose value may be many times as large as what they are made of.
// Their arguments are evaluated for that, and paid for, another time.
func (p *payer) ahead(frame *interpreter.ExecutionFrame) int {
	function := p.Function()
	if function != "replace" && function != "join" && function != "format" && function != "split" {
		return 0
	}
	var args []ref.Val
	for _, arg := range p.Args() {
		args = append(args, arg.Exec(frame))
	}
	if len(args) == 0 {
		return 0
	}
	text, isText := args[0].(types.String)
	list, isList := args[0].(traits.Lister)
	switch {
	case function == "replace" && isText && len(args) >= 3:
		from, _ := args[1].(types.String)
		to, _ := args[2].(types.String)
		return product(strings.Count(string(text), string(from)), len(to)) + len(text)
	case function == "split" && isText && len(args) >= 2:
		by, _ := args[1].(types.String)
		return product(strings.Count(string(text), string(by))+1, elementBytes)
	case function == "join" && isList:
		between := 0
		if len(args) > 1 {
			between = sizeOf(args[1])
		}
		return elements(list, between)
	case function == "format" && isText && len(args) > 1:
		if list, isList = args[1].(traits.Lister); isList {
			return elements(list, maxFormatted) + len(text)
		}
	}
	return 0
}

// maxFormatted is more than a number has in any format.
const maxFormatted = 2048

// elements is how large the elements of a list are, each with something beside it.
func elements(list traits.Lister, beside int) int {
	total := 0
	for i := list.Iterator(); i.HasNext() == types.True; {
		if total += sizeOf(i.Next()) + beside; total > maxBytes {
			return total
		}
	}
	return total
}

func product(a, b int) int {
	if b > 0 && a > math.MaxInt32/b {
		return math.MaxInt32
	}
	return a * b
}
