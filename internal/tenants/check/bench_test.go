// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"
)

// BenchmarkTemplate checks the largest of the examples, without an API.
func BenchmarkTemplate(b *testing.B) {
	template := exampleTemplate(b, exampleText(b, "tenants/enterprise.yaml"))
	subject := Subject{Template: template, Row: exampleRow(b, exampleRegistry(b, template), "acme", "acme.example.com")}
	for b.Loop() {
		if findings, err := Template(b.Context(), subject, nil); err != nil || len(findings) > 0 {
			b.Fatal(findings, err)
		}
	}
}
