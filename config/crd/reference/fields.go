// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/config/crd"
)

// row is one field of the kind.
type row struct {
	path        string
	typ         string
	fallback    string
	required    bool
	description string
	support     infrav1.FieldSupport
}

// readDefinition returns the schema of the version that is stored.
func readDefinition() (*apiextensionsv1.JSONSchemaProps, error) {
	data, err := crd.FS.ReadFile("infra.contrib.fluxcd.io_terraforms.yaml")
	if err != nil {
		return nil, err
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &definition); err != nil {
		return nil, fmt.Errorf("read the definition: %w", err)
	}
	for _, version := range definition.Spec.Versions {
		if version.Storage {
			return version.Schema.OpenAPIV3Schema, nil
		}
	}
	return nil, fmt.Errorf("the definition stores no version. This is a bug in Yuba")
}

// rows lists the fields of a type and of the types below it, in the order in which the type has them. The schema says what
// an API server makes of each.
func rows(path string, of reflect.Type, schema apiextensionsv1.JSONSchemaProps) []row {
	var all []row
	for i := range of.NumField() {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if options == "inline" {
			all = append(all, rows(path, field.Type, schema)...)
			continue
		}
		props, at := schema.Properties[name], path+"."+name
		all = append(all, row{
			path: at, typ: typeOf(props, field.Type), fallback: fallback(props), required: isRequired(schema, name),
			description: strings.Join(strings.Fields(props.Description), " "), support: infrav1.SupportOf(at),
		})
		switch inner := elem(field.Type); {
		case !isOurs(inner):
		case props.Items != nil:
			all = append(all, rows(at+"[]", inner, *props.Items.Schema)...)
		default:
			all = append(all, rows(at, inner, props)...)
		}
	}
	return all
}

func isRequired(schema apiextensionsv1.JSONSchemaProps, name string) bool {
	for _, required := range schema.Required {
		if required == name {
			return true
		}
	}
	return false
}

// elem is the type that pointers and lists of it lead to.
func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// isOurs is true for structs of the kind's package and Flux's references, whose fields are listed. Those of Kubernetes are
// described where Kubernetes describes them.
func isOurs(t reflect.Type) bool {
	return t.Kind() == reflect.Struct &&
		(strings.HasSuffix(t.PkgPath(), "/api/infra/v1alpha2") || t.PkgPath() == "github.com/fluxcd/pkg/apis/meta")
}

// typeOf names a field's type. Types of Kubernetes have their own name, since their fields are not listed here.
func typeOf(props apiextensionsv1.JSONSchemaProps, of reflect.Type) string {
	switch {
	case len(props.Enum) > 0:
		var values []string
		for _, value := range props.Enum {
			values = append(values, strings.Trim(string(value.Raw), `"`))
		}
		return strings.Join(values, ", ")
	case props.Type == "array":
		return "list of " + typeOf(*props.Items.Schema, elem(of))
	case props.Type == "object" && props.AdditionalProperties != nil:
		return "map of " + typeOf(*props.AdditionalProperties.Schema, of.Elem())
	case props.Type == "object" && !isOurs(elem(of)):
		return code(elem(of).Name())
	case props.Type == "":
		return "any"
	case props.Format == "date-time":
		return "time"
	case strings.Contains(props.Pattern, "ms|us"):
		return "duration"
	default:
		return props.Type
	}
}

func fallback(props apiextensionsv1.JSONSchemaProps) string {
	if props.Default == nil {
		return ""
	}
	return strings.Trim(string(props.Default.Raw), `"`)
}

func writeSpec(page *strings.Builder, kind *apiextensionsv1.JSONSchemaProps) {
	fields := rows("spec", reflect.TypeFor[infrav1.TerraformSpec](), kind.Properties["spec"])
	page.WriteString("## spec\n\n" + legend(fields) + "\n| field | type | default | description | support |\n|---|---|---|---|---|\n")
	for _, r := range fields {
		fmt.Fprintf(page, "| %s | %s | %s | %s | %s |\n", code(strings.TrimPrefix(r.path, "spec.")), r.typ, r.standard(), cell(r.description), r.mark())
	}
	page.WriteString("\n")
}

func writeStatus(page *strings.Builder, kind *apiextensionsv1.JSONSchemaProps) {
	page.WriteString("## status\n\nThe server writes it.\n\n| field | type | description |\n|---|---|---|\n")
	for _, r := range rows("status", reflect.TypeFor[infrav1.TerraformStatus](), kind.Properties["status"]) {
		fmt.Fprintf(page, "| %s | %s | %s |\n", code(strings.TrimPrefix(r.path, "status.")), r.typ, cell(r.description))
	}
	page.WriteString("\n")
}

// standard is what the column of defaults says.
func (r row) standard() string {
	switch {
	case r.required:
		return "**required**"
	case r.fallback != "":
		return code(r.fallback)
	default:
		return ""
	}
}

// mark is what the last column says.
func (r row) mark() string {
	mark := string(r.support.Support)
	if r.support.When != "" {
		mark = "works; " + r.support.When + ": " + mark
	}
	if r.support.Note != "" {
		mark += ". " + r.support.Note
	}
	return cell(mark)
}

func code(text string) string { return "`" + text + "`" }

// cell makes text safe for a table: a bar would end the cell, and the others mean something in Markdown.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(text)
}
