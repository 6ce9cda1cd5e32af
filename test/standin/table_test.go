// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// each calls a function for every kind of every table.
func each(t *testing.T, try func(t *testing.T, from table, of kind)) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		for _, of := range slices.Sorted(maps.Keys(tables[name].kinds)) {
			t.Run(of, func(t *testing.T) { try(t, tables[name], tables[name].kinds[of]) })
		}
	}
}

func TestTablesAreSchemas(t *testing.T) {
	for name, from := range tables {
		s := &standin{name: name, table: from}
		var block provider.SchemaResponse
		s.Schema(t.Context(), provider.SchemaRequest{}, &block)
		if d := block.Schema.ValidateImplementation(t.Context()); d.HasError() {
			t.Errorf("the block of %s: %v", name, d)
		}
		for _, made := range s.Resources(t.Context()) {
			var named resource.MetadataResponse
			var schema resource.SchemaResponse
			made().Metadata(t.Context(), resource.MetadataRequest{ProviderTypeName: name}, &named)
			made().Schema(t.Context(), resource.SchemaRequest{}, &schema)
			if d := schema.Schema.ValidateImplementation(t.Context()); d.HasError() {
				t.Errorf("%s: %v", named.TypeName, d)
			}
			if !strings.HasPrefix(named.TypeName, name+"_") {
				t.Errorf("%s is in the table of %s", named.TypeName, name)
			}
		}
	}
}

// Every name in a pattern exists: an attribute of the same kind, an argument of the provider, or
// {random}.
func TestPatternsNameWhatThereIs(t *testing.T) {
	each(t, func(t *testing.T, from table, of kind) {
		for name, a := range of.attributes {
			if a.required && (a.optional || a.computed) || !a.required && !a.optional && !a.computed {
				t.Errorf("%s is neither given nor told, or both", name)
			}
			for _, found := range hole.FindAllStringSubmatch(a.pattern, -1) {
				argument, ofProvider := strings.CutPrefix(found[1], "provider.")
				_, isArgument := from.arguments[argument]
				_, isAttribute := of.attributes[found[1]]
				if found[1] != "random" && !isAttribute && (!ofProvider || !isArgument) {
					t.Errorf("the pattern of %s has {%s}", name, found[1])
				}
			}
		}
		for _, r := range of.refuses {
			if _, has := of.attributes[r.attribute]; !has {
				t.Errorf("%s is refused, and there is no such attribute", r.attribute)
			}
		}
		if !of.attributes["id"].computed {
			t.Error("it has no id")
		}
	})
}

// All attributes of a created object are known, as tofu requires.
func TestObjectsAreComplete(t *testing.T) {
	each(t, func(t *testing.T, _ table, of kind) {
		f := fields{}
		for name, a := range of.attributes {
			kind := map[shape]tftypes.Type{text: tftypes.String, whole: tftypes.Number, flag: tftypes.Bool}[a.shape]
			switch {
			case a.computed:
				f[name] = tftypes.NewValue(kind, tftypes.UnknownValue)
			case a.required && a.shape == text:
				f[name] = tftypes.NewValue(kind, "given")
			case a.required && a.shape == whole:
				f[name] = tftypes.NewValue(kind, 3)
			}
		}
		if err := of.complete(f, texts{"region": "us-east-1"}); err != nil {
			t.Fatal(err)
		}
		for name, value := range f {
			if !value.IsFullyKnown() || of.attributes[name].computed && textOf(plain(value)) == "" && name != "owner" && name != "database" {
				t.Errorf("%s is %s", name, value)
			}
		}
	})
}

func TestProgramsAreKnownByTheirName(t *testing.T) {
	for _, program := range []string{"standin", "terraform-provider-", "terraform-provider-azurerm_v1.0.0", "terraform-provider-awsome"} {
		if err := serve(program); err == nil || !strings.Contains(err.Error(), program) {
			t.Errorf("%s: %v", program, err)
		}
	}
}

func TestPasswordsAreOfWhatIsAllowed(t *testing.T) {
	for range 100 {
		if got := password(texts{"length": "32", "special": "false"}); len(got) != 32 || strings.ContainsAny(got, specials) {
			t.Fatalf("%q", got)
		}
		if got := password(texts{"length": "8", "lower": "false", "upper": "false", "numeric": "false", "override_special": "_"}); got != "________" {
			t.Fatalf("%q", got)
		}
	}
	if got := hexDigits(texts{"byte_length": "4"}); len(got) != 8 {
		t.Errorf("%q", got)
	}
}
