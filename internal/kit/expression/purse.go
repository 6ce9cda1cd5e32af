// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"errors"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// maxBytes limits what one evaluation creates and compares: about 100 ms, which cannot be
// interrupted. The largest input, the body of a webhook, has three million bytes.
const maxBytes = 64 << 20

// purseName is the variable with the evaluation's purse. It is not a valid name in an expression.
const purseName = "@purse"

// purse is the rest of an evaluation's budget, its context, and the values that are paid for and
// not yet used.
type purse struct {
	ctx    context.Context
	left   int
	handed map[interpreter.InterpretableV2]ref.Val
}

func newPurse(ctx context.Context) *purse {
	return &purse{ctx: ctx, left: maxBytes, handed: map[interpreter.InterpretableV2]ref.Val{}}
}

// spend reports whether the purse had enough.
func (p *purse) spend(bytes int) bool {
	p.left -= min(bytes, maxBytes+1)
	return p.left >= 0
}

func (p *purse) take(of interpreter.InterpretableV2) (ref.Val, bool) {
	value, ok := p.handed[of]
	delete(p.handed, of)
	return value, ok
}

var errTooDear = errors.New("it creates or compares more than 64 MiB of text and elements")

// interrupted ends the evaluation like an interrupted loop.
func interrupted() ref.Val { return types.WrapErr(interpreter.InterruptError{}) }

// watched makes the nodes of a program pay. Constants are free.
func watched(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	switch inner := i.(type) {
	case *node, *attribute, interpreter.InterpretableConst:
		return i, nil
	case interpreter.InterpretableAttribute:
		return &attribute{inner}, nil
	}
	return &node{i}, nil
}

// attribute is a variable or a field, which may contain expressions.
type attribute struct {
	interpreter.InterpretableAttribute
}

// Eval implements interpreter.Interpretable.
func (a *attribute) Eval(values interpreter.Activation) ref.Val {
	return a.Exec(interpreter.AsFrame(values))
}

// Exec implements interpreter.InterpretableV2.
func (a *attribute) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	if value, ok := purseOf(frame).take(a); ok {
		return value
	}
	return a.InterpretableAttribute.Exec(frame)
}

// node is any other expression: calls, lists, maps and loops.
type node struct{ interpreter.InterpretableV2 }

// Eval implements interpreter.Interpretable.
func (n *node) Eval(values interpreter.Activation) ref.Val {
	return n.Exec(interpreter.AsFrame(values))
}

// Exec implements interpreter.InterpretableV2.
func (n *node) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	p := purseOf(frame)
	if value, ok := p.take(n); ok {
		return value
	}
	if p.ctx.Err() != nil {
		return interrupted()
	}
	if call, ok := n.InterpretableV2.(interpreter.InterpretableCall); ok {
		return p.call(frame, call)
	}
	value := n.InterpretableV2.Exec(frame)
	if _, ok := n.InterpretableV2.(interpreter.InterpretableConstructor); ok && !p.spend(weigh(value, p.left)) {
		return types.WrapErr(errTooDear)
	}
	return value
}

// call evaluates the arguments once, pays for the call, makes it, and pays for its value.
func (p *purse) call(frame *interpreter.ExecutionFrame, call interpreter.InterpretableCall) ref.Val {
	nodes := call.Args()
	args := make([]ref.Val, len(nodes))
	for i, arg := range nodes {
		args[i] = arg.Exec(frame)
	}
	if !p.spend(callBytes + before(call.Function(), args, p.left)) {
		return types.WrapErr(errTooDear)
	}
	// Functions that read whole values do not see that a part of one is not known.
	if _, whole := prices[call.Function()]; whole {
		for _, arg := range args {
			if unknown := unknownIn(arg, maxBytes); unknown != nil {
				return unknown
			}
		}
	}
	for i, arg := range nodes {
		if _, constant := arg.(interpreter.InterpretableConst); !constant {
			p.handed[arg] = args[i]
		}
	}
	value := call.Exec(frame)
	for _, arg := range nodes {
		delete(p.handed, arg)
	}
	if !p.spend(after(call.Function(), value, p.left)) {
		return types.WrapErr(errTooDear)
	}
	return value
}

// purseOf returns the evaluation's purse. Without one nothing can be spent.
func purseOf(frame *interpreter.ExecutionFrame) *purse {
	found, _ := frame.ResolveName(purseName)
	if p, ok := found.(*purse); ok {
		return p
	}
	return &purse{ctx: context.Background(), left: -1}
}
