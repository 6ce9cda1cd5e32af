// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package celrule

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/common/types"

	"github.com/yuba-dev/yuba/internal/kit/expression"
	"github.com/yuba-dev/yuba/internal/policy/facts"
)

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// fieldsOf returns the fields of a struct by their names in JSON. They are computed once for each of
// the few types of facts.
func fieldsOf(of reflect.Type) map[string]reflect.StructField {
	if known, ok := knownFields.Load(of); ok {
		return known.(map[string]reflect.StructField)
	}
	fields := map[string]reflect.StructField{}
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.IsExported() && name != "" && name != "-" {
			fields[name] = field
		}
	}
	knownFields.Store(of, fields)
	return fields
}

var knownFields sync.Map

func namesOf(of reflect.Type) []string { return slices.Sorted(maps.Keys(fieldsOf(of))) }

// document returns some fields of the facts as CEL takes them; nil means all. Each is converted once
// for all rules.
func document(f *facts.Document, fields []string) (map[string]any, error) {
	known := fieldsOf(reflect.TypeFor[facts.Document]())
	if fields == nil {
		fields = slices.Collect(maps.Keys(known))
	}
	value := map[string]any{}
	for _, name := range fields {
		type result struct {
			value any
			err   error
		}
		got := f.Once("cel "+name, func() any {
			var c converter
			v := c.value(reflect.ValueOf(f).Elem().FieldByIndex(known[name].Index), path{name: variable + "." + name})
			return result{v, c.err}
		}).(result)
		if got.err != nil {
			return nil, got.err
		}
		value[name] = got.value
	}
	return value, nil
}

// path leads to a value; its text is only needed for values that rules cannot have.
type path struct {
	parent *path
	name   string
}

func (p *path) String() string {
	if p.parent == nil {
		return p.name
	}
	return p.parent.String() + p.name
}

// converter keeps the first error: facts have no broken values.
type converter struct{ err error }

func (c *converter) value(v reflect.Value, at path) any {
	switch v.Type() {
	case timeType:
		if t := v.Interface().(time.Time); !t.IsZero() {
			return t
		}
		return nil
	case rawType:
		return c.raw(v.Bytes(), at)
	}
	switch v.Kind() {
	case reflect.Struct:
		object := map[string]any{}
		for name, field := range fieldsOf(v.Type()) {
			object[name] = c.value(v.FieldByIndex(field.Index), path{&at, "." + name})
		}
		return object
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return c.value(v.Elem(), at)
	case reflect.Slice:
		list := make([]any, 0, v.Len())
		for i := range v.Len() {
			list = append(list, c.value(v.Index(i), path{&at, element(v.Index(i), i)}))
		}
		return list
	case reflect.Map:
		object := map[string]any{}
		for i := v.MapRange(); i.Next(); {
			object[i.Key().String()] = c.value(i.Value(), path{&at, "." + i.Key().String()})
		}
		return object
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Int, reflect.Int64:
		return v.Int()
	}
	c.fail(fmt.Errorf("facts have the type %s, which rules cannot read. This is a bug in Yuba", v.Type()))
	return nil
}

func (c *converter) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// element names an element of a list: a change by its address, others by their position.
func element(v reflect.Value, i int) string {
	if v.Kind() == reflect.Struct {
		for _, name := range []string{"Address", "Name"} {
			if field := v.FieldByName(name); field.IsValid() && field.Kind() == reflect.String {
				return "[" + strconv.Quote(field.String()) + "]"
			}
		}
	}
	return "[" + strconv.Itoa(i) + "]"
}

// raw converts a value of the plan.
func (c *converter) raw(raw json.RawMessage, at path) any {
	value, err := facts.Parse(raw)
	if err != nil {
		c.fail(fmt.Errorf("read %s: %w", &at, err))
		return nil
	}
	return c.plain(value, at)
}

// plain replaces values that rules cannot have by an error that says so.
func (c *converter) plain(value any, at path) any {
	switch v := value.(type) {
	case facts.Unknown:
		return unknown(at, "is unknown until the apply")
	case facts.Sensitive:
		return unknown(at, "is sensitive, so it is not in the facts")
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	case []any:
		for i := range v {
			v[i] = c.plain(v[i], path{&at, "[" + strconv.Itoa(i) + "]"})
		}
	case map[string]any:
		for key := range v {
			v[key] = c.plain(v[key], path{&at, "." + key})
		}
	}
	return value
}

func unknown(at path, why string) any {
	return types.WrapErr(&expression.UnknownError{Path: at.String(), Why: why})
}
