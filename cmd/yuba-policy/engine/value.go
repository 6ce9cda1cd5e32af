// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"runtime"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

const (
	// minParallel is the size of an array, in bytes, from which all processors read it.
	minParallel = 256 << 10
	// maxDepth limits the nesting that is read here.
	maxDepth = 500
)

// parseValue reads JSON. It returns what ast.ValueFromReader returns, in a third of the time: without
// Go values between, with equal strings in memory once, and with all processors.
func parseValue(text []byte) (ast.Value, error) {
	r := &reader{text: string(text), parallel: true}
	if v, ok := r.value(0); ok && r.ended() {
		return v, nil
	}
	// OPA decides about what is rare or wrong, and explains it.
	return ast.ValueFromReader(bytes.NewReader(text))
}

// reader reads one JSON text. Its functions return false for what is not JSON, and for what they do
// not read themselves.
type reader struct {
	text string
	at   int
	// parallel is set for a reader that may start others.
	parallel bool
	// terms and tuples are allocated in blocks.
	terms  []ast.Term
	tuples [][2]*ast.Term
	known  [1024]*ast.Term
}

// term returns a term with a value.
func (r *reader) term(v ast.Value) *ast.Term {
	if len(r.terms) == 0 {
		r.terms = make([]ast.Term, 128)
	}
	t := &r.terms[0]
	r.terms = r.terms[1:]
	t.Value = v
	return t
}

// next skips white space and returns the next byte; 0 at the end.
func (r *reader) next() byte {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
	return 0
}

func (r *reader) ended() bool { return r.next() == 0 && r.at == len(r.text) }

// literal skips a word.
func (r *reader) literal(word string) bool {
	if len(r.text)-r.at < len(word) || r.text[r.at:r.at+len(word)] != word {
		return false
	}
	r.at += len(word)
	return true
}

// value reads a value. Its place is behind it afterwards.
func (r *reader) value(depth int) (ast.Value, bool) {
	t, ok := r.read(depth)
	if !ok {
		return nil, false
	}
	return t.Value, true
}

func (r *reader) read(depth int) (*ast.Term, bool) {
	if depth > maxDepth {
		return nil, false
	}
	switch c := r.next(); c {
	case '{':
		return r.object(depth)
	case '[':
		return r.array(depth)
	case '"':
		return r.string()
	case 't':
		return ast.InternedTerm(true), r.literal("true")
	case 'f':
		return ast.InternedTerm(false), r.literal("false")
	case 'n':
		return ast.InternedNullTerm, r.literal("null")
	default:
		return r.number()
	}
}

func (r *reader) object(depth int) (*ast.Term, bool) {
	r.at++
	if r.next() == '}' {
		r.at++
		return r.term(ast.NewObject()), true
	}
	begin := len(r.tuples)
	defer func() { r.tuples = r.tuples[:begin] }()
	for {
		if r.next() != '"' {
			return nil, false
		}
		key, ok := r.string()
		if !ok || r.next() != ':' {
			return nil, false
		}
		r.at++
		value, ok := r.read(depth + 1)
		if !ok {
			return nil, false
		}
		r.tuples = append(r.tuples, [2]*ast.Term{key, value})
		switch r.next() {
		case ',':
			r.at++
		case '}':
			r.at++
			if tuples := r.tuples[begin:]; unique(tuples) {
				return r.term(ast.NewObject(tuples...)), true
			}
			return nil, false
		default:
			return nil, false
		}
	}
}

// unique reports whether an object has each key once: ast.NewObject does not see it.
func unique(tuples [][2]*ast.Term) bool {
	text := func(i int) ast.String { return tuples[i][0].Value.(ast.String) }
	sorted := true
	for i := 1; i < len(tuples) && sorted; i++ {
		sorted = text(i-1) < text(i)
	}
	if sorted {
		return true
	}
	seen := make(map[ast.String]struct{}, len(tuples))
	for i := range tuples {
		seen[text(i)] = struct{}{}
	}
	return len(seen) == len(tuples)
}

func (r *reader) array(depth int) (*ast.Term, bool) {
	if r.parallel && len(r.text)-r.at >= minParallel {
		if parts, end, ok := r.split(); ok && end-r.at >= minParallel {
			r.at = end
			return together(parts, depth)
		}
	}
	r.at++
	var all []*ast.Term
	if r.next() == ']' {
		r.at++
		return r.term(ast.NewArray()), true
	}
	for {
		value, ok := r.read(depth + 1)
		if !ok {
			return nil, false
		}
		all = append(all, value)
		switch r.next() {
		case ',':
			r.at++
		case ']':
			r.at++
			return r.term(ast.NewArray(all...)), true
		default:
			return nil, false
		}
	}
}

// split cuts the array here into parts of about the same size, between its elements, and returns the
// place behind it. It does not check the elements.
func (r *reader) split() (parts []string, end int, ok bool) {
	size := max((len(r.text)-r.at)/runtime.GOMAXPROCS(0)/4, minParallel/8)
	begin, depth := r.at+1, 0
	for i := r.at; i < len(r.text); i++ {
		switch r.text[i] {
		case '"':
			if i = stringEnd(r.text, i+1); i < 0 {
				return nil, 0, false
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return append(parts, r.text[begin:i]), i + 1, true
			}
		case ',':
			if depth == 1 && i-begin >= size {
				parts, begin = append(parts, r.text[begin:i]), i+1
			}
		}
	}
	return nil, 0, false
}

// stringEnd returns the place of the quote that ends a string, from a place in it; -1 for none.
func stringEnd(text string, at int) int {
	for ; at < len(text); at++ {
		switch text[at] {
		case '"':
			return at
		case '\\':
			at++
		}
	}
	return -1
}

// together reads the parts of an array at the same time.
func together(parts []string, depth int) (*ast.Term, bool) {
	lists, fine := make([][]*ast.Term, len(parts)), make([]bool, len(parts))
	turns := make(chan int, len(parts))
	for i := range parts {
		turns <- i
	}
	close(turns)
	var all sync.WaitGroup
	for range min(len(parts), runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			r := &reader{}
			for i := range turns {
				r.text, r.at = parts[i], 0
				lists[i], fine[i] = r.elements(depth)
			}
		})
	}
	all.Wait()
	var elements []*ast.Term
	for i, list := range lists {
		if !fine[i] {
			return nil, false
		}
		elements = append(elements, list...)
	}
	return ast.NewTerm(ast.NewArray(elements...)), true
}

// elements reads the elements of an array, at least one, to the end of the text.
func (r *reader) elements(depth int) (list []*ast.Term, ok bool) {
	for {
		value, ok := r.read(depth + 1)
		if !ok {
			return nil, false
		}
		list = append(list, value)
		if r.ended() {
			return list, true
		}
		if r.text[r.at] != ',' {
			return nil, false
		}
		r.at++
	}
}
