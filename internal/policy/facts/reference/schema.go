// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/facts"
)

// node is a part of a JSON schema. Its fields are in the order in which they are written.
type node struct {
	Schema      string `json:"$schema,omitempty"`
	ID          string `json:"$id,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Ref         string `json:"$ref,omitempty"`
	Type        any    `json:"type,omitempty"`
	Format      string `json:"format,omitempty"`
	Const       string `json:"const,omitempty"`
	Enum        []any  `json:"enum,omitempty"`

	Properties *properties `json:"properties,omitempty"`
	Required   []string    `json:"required,omitempty"`
	Additional *node       `json:"additionalProperties,omitempty"`
	Items      *node       `json:"items,omitempty"`
	Defs       *properties `json:"$defs,omitempty"`
}

// properties are in the order of the fields in Go.
type properties struct {
	names []string
	of    map[string]*node
}

func (p *properties) set(name string, n *node) {
	if p.of == nil {
		p.of = map[string]*node{}
	}
	p.names = append(p.names, name)
	p.of[name] = n
}

// MarshalJSON implements json.Marshaler.
func (p *properties) MarshalJSON() ([]byte, error) {
	var parts []string
	for _, name := range p.names {
		value, err := json.Marshal(p.of[name])
		if err != nil {
			return nil, err
		}
		parts = append(parts, fmt.Sprintf("%q:%s", name, value))
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

// schema is the schema of the document.
type schema struct {
	root     *node
	comments *comments
}

// special are the schemas of fields that their Go type does not describe.
var special = map[string]func(*node){
	"Document.APIVersion": func(n *node) { n.Const = facts.APIVersion },
	"Document.Kind":       func(n *node) { n.Const = facts.Kind },
	"Change.Index":        func(n *node) { n.Type = []string{"number", "string", "null"} },
	"Change.Mode":         func(n *node) { n.Enum = []any{"managed", "data", "ephemeral"} },
	"Resource.Mode":       func(n *node) { n.Enum = []any{"managed", "data", "ephemeral"} },
}

// constants are the fields whose values are constants with a prefix.
var constants = map[string]string{"Document.Stage": "Stage", "Change.Action": "Action", "Output.Action": "Action", "Contract.Verdict": "Contract"}

func newSchema(c *comments) (*schema, error) {
	s := &schema{comments: c, root: &node{Schema: "https://json-schema.org/draft/2020-12/schema", ID: "https://yuba.dev/schemas/policy-facts-v1.json",
		Title: "Facts, " + facts.APIVersion, Defs: &properties{}}}
	root := &node{}
	if err := s.fill(root, reflect.TypeFor[facts.Document]()); err != nil {
		return nil, err
	}
	s.root.Description, s.root.Type, s.root.Properties, s.root.Required = c.types["Document"], root.Type, root.Properties, root.Required
	return s, nil
}

// fill describes a struct.
func (s *schema) fill(n *node, of reflect.Type) error {
	n.Type, n.Properties = "object", &properties{}
	for i := range of.NumField() {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" {
			continue // not a part of the document
		}
		key := of.Name() + "." + field.Name
		value, err := s.typed(field.Type)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		value.Description = s.comments.fields[key]
		if prefix := constants[key]; prefix != "" {
			for _, c := range s.comments.constants {
				if strings.HasPrefix(c.name, prefix) {
					value.Enum = append(value.Enum, c.value)
				}
			}
			if len(value.Enum) == 0 {
				return fmt.Errorf("%s: there are no constants %s…", key, prefix)
			}
		}
		if change := special[key]; change != nil {
			change(value)
		}
		n.Properties.set(name, value)
		if !strings.Contains(options, "omit") {
			n.Required = append(n.Required, name)
		}
	}
	return nil
}

// typed describes a type. Structs are definitions.
func (s *schema) typed(of reflect.Type) (*node, error) {
	switch {
	case of == reflect.TypeFor[json.RawMessage]():
		return &node{}, nil
	case of == reflect.TypeFor[time.Time]():
		return &node{Type: "string", Format: "date-time"}, nil
	}
	switch of.Kind() {
	case reflect.Pointer:
		return s.typed(of.Elem())
	case reflect.String:
		return &node{Type: "string"}, nil
	case reflect.Bool:
		return &node{Type: "boolean"}, nil
	case reflect.Int, reflect.Int64:
		return &node{Type: "integer"}, nil
	case reflect.Slice:
		items, err := s.typed(of.Elem())
		return &node{Type: "array", Items: items}, err
	case reflect.Map:
		values, err := s.typed(of.Elem())
		return &node{Type: "object", Additional: values}, err
	case reflect.Struct:
		if s.root.Defs.of[of.Name()] == nil {
			definition := &node{Description: s.comments.types[of.Name()]}
			s.root.Defs.set(of.Name(), definition)
			if err := s.fill(definition, of); err != nil {
				return nil, err
			}
		}
		return &node{Ref: "#/$defs/" + of.Name()}, nil
	}
	return nil, fmt.Errorf("the schema does not know the type %s", of)
}
