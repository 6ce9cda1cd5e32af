// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"reflect"
	"time"
)

// allowance is the cost of one rendering: roughly the bytes touched. It takes about a second and a
// small multiple of the bytes in memory.
const allowance = 64 << 20

// Costs besides the bytes of texts: of a call, equal to copying a few hundred bytes, and of an
// element of a list or map.
const (
	callCost    = 512
	elementCost = 16
)

// budget is the rest of the allowance. Exceeding it panics with a *refusal, which text/template
// turns into the error of the call.
type budget struct {
	left int64
	// shown is the last written value, shows the number of written values.
	shown any
	shows int
	// made are the functions that templates with this budget have used.
	made map[string]any
}

func newBudget() *budget { return &budget{left: allowance, made: map[string]any{}} }

// refusal says why a rendering was stopped, without showing data.
type refusal struct{ reason string }

func (r *refusal) Error() string { return r.reason }

var errSpent = &refusal{"it takes too much time or memory; loop over less, or make shorter texts"}

func (b *budget) take(cost int64) {
	if cost < 0 || cost > b.left { // negative if a product has overflowed
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

// weigh charges for a value. Everything in it counts as often as it is reached: a list that
// contains another one twice costs twice as much.
func (b *budget) weigh(v reflect.Value, depth int) {
	if depth > maxDepth {
		panic(&refusal{"a value is nested too deeply, or contains itself"})
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
	case reflect.Struct: // created by functions: times, versions, certificates
		b.take(callCost)
	}
}

// copyOf copies JSON data.
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

// paid wraps a function so that each call pays for its arguments and for its result, according to
// price. The type is unchanged, so text/template checks and converts arguments as usual.
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

var errNoTime = errors.New("it can format only a time or a number of seconds; other values would mean now")

// isTime reports whether a value is a time; date functions treat everything else as now.
func isTime(value any) bool {
	switch value.(type) {
	case time.Time, *time.Time, int64, int, int32:
		return true
	}
	return false
}
