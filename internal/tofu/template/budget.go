// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"reflect"
	"time"
)

// allowance is what one rendering may cost: about as many bytes touched. It is
// about a second of work and a small multiple of it in memory.
const allowance = 64 << 20

// Costs beside the bytes of texts: of a call, which takes as long as copying
// some hundred bytes, and of an element of a list or map.
const (
	callCost    = 512
	elementCost = 16
)

// budget is what is left of the allowance. Who takes more panics with a
// *refusal, which text/template turns into the error of the call.
type budget struct {
	left int64
	// shown is what an action wrote last, and shows how many have written.
	shown any
	shows int
	// made are the functions that templates on this budget have called for.
	made map[string]any
}

func newBudget() *budget { return &budget{left: allowance, made: map[string]any{}} }

// refusal says why a rendering was stopped, in words that show no data.
type refusal struct{ reason string }

func (r *refusal) Error() string { return r.reason }

var errSpent = &refusal{"it takes too much time or memory; loop over less, or make shorter texts"}

func (b *budget) take(cost int64) {
	if cost < 0 || cost > b.left { // below zero when a product has overflowed
		b.left = 0
		panic(errSpent)
	}
	b.left -= cost
}

// catch turns a refusal outside of a template's functions into an error.
func (b *budget) catch(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			refused, ok := r.(*refusal)
			if !ok {
				panic(r)
			}
			err = refused
		}
	}()
	return do()
}

// weigh takes what a value is worth, everything in it counted as often as it
// is reached: a list that holds another one twice is twice as heavy.
func (b *budget) weigh(v reflect.Value, depth int) {
	if depth > maxDepth {
		panic(&refusal{"a value is nested too deeply, or in itself"})
	}
	b.take(elementCost)
	switch v.Kind() {
	case reflect.String:
		b.take(int64(v.Len()))
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			b.weigh(v.Elem(), depth+1)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			b.take(int64(v.Len()))
			return
		}
		for i := range v.Len() {
			b.weigh(v.Index(i), depth+1)
		}
	case reflect.Map:
		for item := v.MapRange(); item.Next(); {
			b.weigh(item.Key(), depth+1)
			b.weigh(item.Value(), depth+1)
		}
	case reflect.Struct: // of functions' making: times, versions, certificates
		b.take(callCost)
	}
}

// copyOf copies data of JSON's kinds.
func (b *budget) copyOf(value any, depth int) any {
	if depth > maxDepth {
		panic(&refusal{"a value is nested too deeply"})
	}
	b.take(elementCost)
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = b.copyOf(item, depth+1)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[name] = b.copyOf(item, depth+1)
		}
		return out
	}
	return value
}

// paid wraps a function so that each call pays for its arguments and for what
// price says that it makes of them. The type stays, so that text/template
// checks and converts arguments as ever.
func (b *budget) paid(function any, price func(args []reflect.Value) int64) any {
	f := reflect.ValueOf(function)
	return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		b.take(callCost)
		for _, arg := range args {
			b.weigh(arg, 0)
		}
		if price != nil {
			b.take(price(args))
		}
		if f.Type().IsVariadic() {
			return f.CallSlice(args)
		}
		return f.Call(args)
	}).Interface()
}

var errNoTime = errors.New("what it formats must be a time or a number of seconds; anything else would mean now")

// isTime reports whether a value is a time; the functions of dates take
// everything else for the present.
func isTime(value any) bool {
	switch value.(type) {
	case time.Time, *time.Time, int64, int, int32:
		return true
	}
	return false
}
