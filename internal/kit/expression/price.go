// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"math"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

const (
	// callBytes is the cost of a call besides its text, elementBytes that of an element of a list
	// or map.
	callBytes, elementBytes = 64, 32
	// formatBytes exceeds a number's length in any format.
	formatBytes = 512
)

// prices are the costs of calls that may do much more than read their arguments once, paid in
// advance. The exact value matters only up to left.
var prices = map[string]func(args []ref.Val, left int) int{
	operators.Equals:    weighAll,
	operators.NotEquals: weighAll,
	operators.In:        priceOfIn,
	overloads.Matches:   priceOfMatches,
	"sets.contains":     priceOfSets,
	"sets.equivalent":   priceOfSets,
	"sets.intersects":   priceOfSets,
	"indexOf":           priceOfSearch,
	"lastIndexOf":       priceOfSearch,
	"replace":           priceOfReplace,
	"split":             priceOfSplit,
	"join":              priceOfJoin,
	"format":            priceOfFormat,
	"json.encode":       func(args []ref.Val, left int) int { return product(weighAll(args, left), 6) },
}

// before returns the cost of a call, paid in advance.
func before(function string, args []ref.Val, left int) int {
	if price, ok := prices[function]; ok {
		return price(args, left)
	}
	total := 0
	for _, arg := range args {
		total += text(arg)
	}
	return total
}

// after returns the cost of a call's value. For lists that loops extend, only the addition counts.
func after(function string, value ref.Val, left int) int {
	if _, growing := value.(traits.MutableLister); growing {
		return elementBytes
	}
	if function == operators.Add {
		return weigh(value, left)
	}
	if list, ok := value.(traits.Lister); ok && function == "split" {
		return weigh(list, left)
	}
	return text(value)
}

// text returns the length of a text, and 0 for everything else.
func text(value ref.Val) int {
	switch value := value.(type) {
	case types.String:
		return len(value)
	case types.Bytes:
		return len(value)
	}
	return 0
}

// weigh returns the size of a value's written form, with repeated parts. It stops when that exceeds
// left.
func weigh(value ref.Val, left int) int {
	if left < 0 {
		return 0
	}
	total := elementBytes + text(value)
	switch value := value.(type) {
	case *types.Optional:
		if value.HasValue() {
			total += weigh(value.GetValue(), left-total)
		}
	case traits.Mapper:
		for i := value.Iterator(); i.HasNext() == types.True && total <= left; {
			key := i.Next()
			total += weigh(key, left-total)
			total += weigh(value.Get(key), left-total)
		}
	case traits.Lister:
		for i := value.Iterator(); i.HasNext() == types.True && total <= left; {
			total += weigh(i.Next(), left-total)
		}
	}
	return total
}

func weighAll(args []ref.Val, left int) int {
	total := 0
	for _, arg := range args {
		total += weigh(arg, left-total)
	}
	return total
}

// priceOfIn: a list is searched element by element; in a map a key is looked up.
func priceOfIn(args []ref.Val, left int) int {
	if len(args) == 2 {
		if _, ok := args[1].(traits.Mapper); ok {
			return weigh(args[0], left)
		}
	}
	return weighAll(args, left)
}

// priceOfSets: each element of one is compared with each element of the other.
func priceOfSets(args []ref.Val, left int) int {
	if len(args) != 2 {
		return 0
	}
	return product(length(args[0]), weigh(args[1], left)) + product(length(args[1]), weigh(args[0], left))
}

// priceOfSearch: the pattern is compared at every position of the text.
func priceOfSearch(args []ref.Val, _ int) int {
	if len(args) < 2 {
		return 0
	}
	return product(text(args[0]), text(args[1])) + 4*text(args[0])
}

func priceOfReplace(args []ref.Val, _ int) int {
	if len(args) < 3 {
		return 0
	}
	in, _ := args[0].(types.String)
	from, _ := args[1].(types.String)
	return product(strings.Count(string(in), string(from)), text(args[2])) + len(in)
}

func priceOfSplit(args []ref.Val, _ int) int {
	if len(args) < 2 {
		return 0
	}
	in, _ := args[0].(types.String)
	by, _ := args[1].(types.String)
	return product(strings.Count(string(in), string(by))+1, elementBytes) + len(in)
}

func priceOfJoin(args []ref.Val, left int) int {
	between := 0
	if len(args) > 1 {
		between = text(args[1])
	}
	return weighAll(args, left) + product(length(args[0]), between)
}

func priceOfFormat(args []ref.Val, left int) int {
	return product(weighAll(args, left), 2) + product(length(args[len(args)-1]), formatBytes)
}

// maxRegexp is the maximum number of a regular expression's instructions. Repetitions multiply: a
// few letters can mean millions.
const maxRegexp = 10_000

// priceOfMatches: every position of the text may be visited for every instruction, and the
// expression is compiled each time.
func priceOfMatches(args []ref.Val, _ int) int {
	if len(args) != 2 {
		return 0
	}
	pattern, _ := args[1].(types.String)
	parsed, err := syntax.Parse(string(pattern), syntax.Perl)
	if err != nil {
		return len(pattern) // the call will return the error
	}
	size := instructions(parsed)
	if size > maxRegexp {
		return math.MaxInt32
	}
	return product(text(args[0])+100, size)
}

// instructions returns the approximate number of instructions of a compiled expression.
func instructions(r *syntax.Regexp) int {
	total := 1 + len(r.Rune)
	for _, sub := range r.Sub {
		total += instructions(sub)
	}
	if r.Op == syntax.OpRepeat {
		total = product(total, max(r.Min, r.Max, 1))
	}
	return total
}

// length returns the number of a list's elements, and 0 for everything else.
func length(value ref.Val) int {
	if list, ok := value.(traits.Lister); ok {
		if size, ok := list.Size().(types.Int); ok {
			return int(min(size, math.MaxInt32))
		}
	}
	return 0
}

func product(a, b int) int {
	if a > 0 && b > math.MaxInt32/a {
		return math.MaxInt32
	}
	return a * b
}
