// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"regexp"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// refusals are the API server's own objections to a schema: it validates a definition with it.
func refusals(props *apiextensionsv1.JSONSchemaProps) (list finding.List) {
	inner, err := internalProps(props)
	if err != nil {
		list.Add(finding.Error, "", "This is a bug in Yuba.", "the schema cannot be converted: %v", err)
		return list
	}
	seen := map[string]bool{}
	for _, err := range crdvalidation.ValidateCustomResourceDefinition(context.Background(), definition(inner)) {
		at, ours := place(err.Field)
		f := finding.Finding{Severity: finding.Error, Field: at, Problem: objection(err), Advice: advice(err)}
		if !ours && err.Field != "spec.validation.openAPIV3Schema" {
			f.Problem = err.Field + ": " + f.Problem
		}
		if !seen[f.String()] {
			seen[f.String()] = true
			list = append(list, f)
		}
	}
	return list
}

// definition is a definition that has nothing to object to but the schema of its spec.
func definition(spec *apiextensions.JSONSchemaProps) *apiextensions.CustomResourceDefinition {
	yes, no := true, false
	return &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "samples.example.org"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: "example.org", Scope: apiextensions.NamespaceScoped, PreserveUnknownFields: &no,
			Names:      apiextensions.CustomResourceDefinitionNames{Plural: "samples", Singular: "sample", Kind: "Sample", ListKind: "SampleList"},
			Conversion: &apiextensions.CustomResourceConversion{Strategy: apiextensions.NoneConverter},
			Versions:   []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: yes}},
			Validation: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{"spec": *spec},
			}},
		},
		Status: apiextensions.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}},
	}
}

var (
	// inSpec is the place of the schema in the definition. A rule's errors name it with a dot.
	inSpec = regexp.MustCompile(`^spec\.validation\.openAPIV3Schema\.properties\[spec\]\.?`)
	key    = regexp.MustCompile(`\[([^\]]*)\]`)
	number = regexp.MustCompile(`^[0-9]+$`)
)

// place translates a path in the definition to one in the schema: properties[db] is properties.db.
func place(path string) (at string, ours bool) {
	found := inSpec.FindString(path)
	if found == "" {
		return "", false
	}
	path = key.ReplaceAllStringFunc(path[len(found):], func(step string) string {
		name := step[1 : len(step)-1]
		if number.MatchString(name) && !strings.HasPrefix(step, "[\"") {
			return step
		}
		return finding.Child(".", name)[1:]
	})
	return shorten.CutBytes(path, maxMessage), true
}

// objection returns the reason of an error without the value, which may be the whole schema.
func objection(err *field.Error) string {
	if err.Type == field.ErrorTypeRequired && err.Detail == "" {
		return "a value is required"
	}
	if err.Detail == "" {
		return shorten.CutBytes(strings.ToLower(err.Type.String()), maxMessage)
	}
	if strings.Contains(err.Detail, "in body ") {
		return detail(err)
	}
	return shorten.CutBytes(err.Detail, maxMessage)
}

// advices say what to write instead, by a part of the server's text.
var advices = []struct{ part, advice string }{
	{"regular expression", "write the pattern in Go's syntax (RE2), which has no lookaheads, lookbehinds and back references"},
	{"must be empty to be structural", "write it on the field itself, not inside allOf, anyOf, oneOf or not"},
	{"must be undefined to be structural", "write it on the field itself, not inside allOf, anyOf, oneOf or not"},
	{"because it is defined in", "declare the field on the outer schema, too, with its type"},
	{"estimated rule cost", "limit lists, maps and strings that the rule reads with maxItems, maxProperties and maxLength"},
	{"compilation failed", "correct the CEL expression"},
	{"uniqueItems", "write x-kubernetes-list-type: set"},
}

func advice(err *field.Error) string {
	for _, a := range advices {
		if strings.Contains(err.Detail, a.part) || strings.HasSuffix(err.Field, "."+a.part) {
			return a.advice
		}
	}
	if strings.HasSuffix(err.Field, ".default") || strings.Contains(err.Field, ".default.") {
		return "write a default that satisfies the schema of its field"
	}
	return ""
}
