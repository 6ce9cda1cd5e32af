// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func named(name string) func(apiextensionsv1.CustomResourceDefinitionVersion) bool {
	return func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name }
}

func TestTheOldVersionIsServedWithAWarningAndNotStored(t *testing.T) {
	d := load(t, terraforms)
	type facts struct {
		Name, Warning               string
		Served, Storage, Deprecated bool
	}
	var got []facts
	for _, v := range d.Spec.Versions {
		f := facts{Name: v.Name, Served: v.Served, Storage: v.Storage, Deprecated: v.Deprecated}
		if v.DeprecationWarning != nil {
			f.Warning = *v.DeprecationWarning
		}
		got = append(got, f)
	}
	want := []facts{
		{Name: "v1alpha1", Served: true, Deprecated: true, Warning: "v1alpha1 Terraform is deprecated, upgrade to v1alpha2"},
		{Name: "v1alpha2", Served: true, Storage: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

// Without a webhook, an API server converts by changing nothing but apiVersion. That is right only as long as the
// versions have the same fields, with the same types, defaults and merge keys.
func TestVersionsDifferInNothingThatAConversionWouldHaveToChange(t *testing.T) {
	d := load(t, terraforms)
	if c := d.Spec.Conversion; c != nil && c.Strategy != apiextensionsv1.NoneConverter {
		t.Errorf("the conversion is %s", c.Strategy)
	}
	var schemas []apiextensionsv1.JSONSchemaProps
	for _, v := range d.Spec.Versions {
		schema := *v.Schema.OpenAPIV3Schema.DeepCopy()
		schema.Description = ""
		schemas = append(schemas, schema)
	}
	if diff := cmp.Diff(schemas[0], schemas[1]); diff != "" {
		t.Errorf("%s and %s differ (-%[1]s +%[2]s):\n%s", d.Spec.Versions[0].Name, d.Spec.Versions[1].Name, diff)
	}
	columns := [][]apiextensionsv1.CustomResourceColumnDefinition{
		d.Spec.Versions[0].AdditionalPrinterColumns, d.Spec.Versions[1].AdditionalPrinterColumns}
	if diff := cmp.Diff(columns[0], columns[1]); diff != "" {
		t.Errorf("columns differ:\n%s", diff)
	}
}

// Whoever comes from tofu-controller has objects with these fields, and tools that write them.
func TestEveryFieldOfTofuControllerIsInBothVersions(t *testing.T) {
	for _, version := range []string{"v1alpha1", "v1alpha2"} {
		t.Run(version, func(t *testing.T) {
			ours := map[string]apiextensionsv1.JSONSchemaProps{}
			required := map[string]bool{}
			root := *loadVersion(t, terraforms, named(version)).version.Schema.OpenAPIV3Schema
			walk("", root, func(path string, props apiextensionsv1.JSONSchemaProps) {
				ours[path] = props
				for _, name := range props.Required {
					required[path+"."+name] = true
				}
				if props.Items != nil {
					for _, name := range props.Items.Schema.Required {
						required[path+"[]."+name] = true
					}
				}
			})
			lines := bufio.NewScanner(bytes.NewReader(read(t, "tofu-controller.fields")))
			count := 0
			for lines.Scan() {
				if strings.HasPrefix(lines.Text(), "#") {
					continue
				}
				count++
				words := strings.Fields(lines.Text())
				path := words[0]
				props, ok := ours[path]
				if !ok {
					t.Errorf("%s is missing", path)
					continue
				}
				if got := describe(props); !covers(got, words[1:]) {
					t.Errorf("%s is %q, tofu-controller's is %q", path, got, words[1:])
				}
				if required[path] && !slices.Contains(words, "required") {
					t.Errorf("%s is required, which it is not for tofu-controller", path)
				}
			}
			if count < 140 {
				t.Errorf("only %d fields were looked at", count)
			}
		})
	}
}

// describe says of a field what the list of fields says: its type, the values it can have and its default.
func describe(props apiextensionsv1.JSONSchemaProps) []string {
	words := []string{props.Type}
	if props.Type == "" {
		words[0] = "any"
	}
	var values []string
	for _, value := range props.Enum {
		values = append(values, strings.Trim(string(value.Raw), `"`))
	}
	if len(values) > 0 {
		words = append(words, "enum="+strings.Join(values, ","))
	}
	if props.Default != nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, props.Default.Raw); err != nil {
			return append(words, "default="+err.Error())
		}
		words = append(words, "default="+compact.String())
	}
	return words
}

// covers is true when ours is what theirs is. Ours may allow more values.
func covers(ours, theirs []string) bool {
	for _, word := range theirs {
		values, isEnum := strings.CutPrefix(word, "enum=")
		switch {
		case word == "required" || word == "v1alpha2":
		case isEnum:
			ok := slices.ContainsFunc(ours, func(w string) bool {
				more, is := strings.CutPrefix(w, "enum=")
				return is && strings.HasPrefix(more+",", values+",")
			})
			if !ok {
				return false
			}
		case !slices.Contains(ours, word):
			return false
		}
	}
	return true
}
