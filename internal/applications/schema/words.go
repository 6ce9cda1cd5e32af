// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/yuba-dev/yuba/internal/kit/nearest"
)

// knownFormat reports whether the API server checks the format. Formats of numbers name their size.
func knownFormat(p *props) bool {
	if slices.Contains([]string{"", "int32", "int64", "float", "double", "date-time"}, p.Format) {
		return true
	}
	document := &spec.Schema{SchemaProps: spec.SchemaProps{Format: p.Format, Type: spec.StringOrArray{"string"}}}
	return len(validation.GetUnrecognizedFormats(document, environment.DefaultCompatibilityVersion())) == 0
}

// closest suggests the keyword that was probably meant.
func closest(word string) string {
	known := slices.Concat(copied, silent, lost, []string{
		"const", "example", "examples", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems", "properties", "additionalProperties", "items",
	})
	if best := nearest.Word(word, known, 2); best != "" {
		return "write " + best
	}
	return "remove it"
}
