// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"
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
	best, distance := "", 3
	for _, known := range slices.Concat(copied, silent, lost, []string{
		"const", "example", "examples", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems", "properties", "additionalProperties", "items",
	}) {
		if d := edits(word, known); d < distance {
			best, distance = known, d
		}
	}
	if best == "" {
		return "remove it"
	}
	return "write " + best
}

// edits is the number of changes that turn one word into another. Long words are not similar.
func edits(a, b string) int {
	if len(a) > 30 || len(b) > 30 {
		return 30
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			before, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, before+cost)
		}
	}
	return row[len(b)]
}
