// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dataschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// envTables names a file with the tables of providers, by name. Their objects are in the state only,
// and their data sources answer nothing: for tests of what plans say.
const envTables = "STANDIN_TABLES"

// writtenTable is a table in that file.
type writtenTable struct {
	Source string `json:"source"`
	// Arguments, and those of kinds, are words by name: the shape (text, whole, flag, textList, textSet, textMap, any)
	// and required, computed, sensitive or replaces.
	Arguments map[string]string      `json:"arguments"`
	Kinds     map[string]writtenKind `json:"kinds"`
	Data      map[string]writtenKind `json:"data"`
}

type writtenKind struct {
	Attributes map[string]string      `json:"attributes"`
	Blocks     map[string]writtenKind `json:"blocks"`
}

// writtenTables returns the table of a provider in the file; false if there is none.
func writtenTableOf(name string) (table, bool, error) {
	file := os.Getenv(envTables)
	if file == "" {
		return table{}, false, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return table{}, false, err
	}
	var all map[string]writtenTable
	if err := json.Unmarshal(text, &all); err != nil {
		return table{}, false, fmt.Errorf("read the tables in %s: %w", file, err)
	}
	w, there := all[name]
	if !there {
		return table{}, false, nil
	}
	t := table{source: w.Source, kinds: map[string]kind{}, data: map[string]kind{}, imports: true}
	if t.arguments, err = readAttributes(w.Arguments); err != nil {
		return table{}, false, err
	}
	for name, k := range w.Kinds {
		if t.kinds[name], err = k.read(true); err != nil {
			return table{}, false, fmt.Errorf("%s: %w", name, err)
		}
	}
	for name, k := range w.Data {
		if t.data[name], err = k.read(true); err != nil {
			return table{}, false, fmt.Errorf("%s: %w", name, err)
		}
	}
	return t, true, nil
}

// read converts a kind. Each has an id.
func (w writtenKind) read(top bool) (k kind, err error) {
	if k.attributes, err = readAttributes(w.Attributes); err != nil {
		return k, err
	}
	if _, there := k.attributes["id"]; top && !there {
		k.attributes["id"] = told("{random}")
	}
	k.blocks = map[string]block{}
	for name, inner := range w.Blocks {
		read, err := inner.read(false)
		if err != nil {
			return k, fmt.Errorf("%s: %w", name, err)
		}
		k.blocks[name] = block{read.attributes, read.blocks}
	}
	return k, nil
}

var shapes = map[string]shape{"text": text, "whole": whole, "flag": flag, "textList": textList, "textSet": textSet, "textMap": textMap, "any": anything}

func readAttributes(words map[string]string) (map[string]attribute, error) {
	out := map[string]attribute{}
	for name, list := range words {
		a := attribute{optional: true}
		for _, word := range strings.Fields(list) {
			s, known := shapes[word]
			switch {
			case known:
				a.shape = s
			case word == "required":
				a.optional, a.required = false, true
			case word == "computed":
				a.optional, a.computed, a.pattern = false, true, "{random}"
			case word == "sensitive":
				a.sensitive = true
			case word == "replaces":
				a.replaces = true
			default:
				return nil, fmt.Errorf("%s: the word %q is not known", name, word)
			}
		}
		out[name] = a
	}
	return out, nil
}

// source is a data source.
type source struct {
	name string
	kind kind
}

func (s *source) Metadata(_ context.Context, _ datasource.MetadataRequest, r *datasource.MetadataResponse) {
	r.TypeName = s.name
}

func (s *source) Schema(_ context.Context, _ datasource.SchemaRequest, r *datasource.SchemaResponse) {
	r.Schema = dataschema.Schema{Attributes: map[string]dataschema.Attribute{}, Blocks: map[string]dataschema.Block{}}
	for name, b := range s.kind.blocks {
		inner := map[string]dataschema.Attribute{}
		for name, a := range b.attributes {
			if a.shape == textList {
				inner[name] = dataschema.ListAttribute{ElementType: types.StringType, Required: a.required, Optional: a.optional}
				continue
			}
			inner[name] = dataschema.StringAttribute{Required: a.required, Optional: a.optional}
		}
		r.Schema.Blocks[name] = dataschema.ListNestedBlock{NestedObject: dataschema.NestedBlockObject{Attributes: inner}}
	}
	for name, a := range s.kind.attributes {
		switch a.shape {
		case textList:
			r.Schema.Attributes[name] = dataschema.ListAttribute{ElementType: types.StringType, Optional: a.optional, Computed: a.computed}
		case textMap:
			r.Schema.Attributes[name] = dataschema.MapAttribute{ElementType: types.StringType, Optional: a.optional, Computed: a.computed}
		case flag:
			r.Schema.Attributes[name] = dataschema.BoolAttribute{Optional: a.optional, Computed: a.computed}
		case anything:
			r.Schema.Attributes[name] = dataschema.DynamicAttribute{Required: a.required, Optional: a.optional, Computed: a.computed}
		default:
			r.Schema.Attributes[name] = dataschema.StringAttribute{Required: a.required, Optional: a.optional, Computed: a.computed}
		}
	}
}

func (s *source) Read(_ context.Context, q datasource.ReadRequest, r *datasource.ReadResponse) {
	given, err := fieldsOf(q.Config.Raw)
	if err == nil {
		err = s.kind.complete(given, texts{})
	}
	if err != nil {
		r.Diagnostics.AddError("Read "+s.name, err.Error())
		return
	}
	r.State.Raw = tftypes.NewValue(q.Config.Raw.Type(), map[string]tftypes.Value(given))
}
