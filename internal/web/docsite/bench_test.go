// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package docsite

import (
	"testing"

	"github.com/yuba-dev/yuba/docs"
)

// BenchmarkIndex is what the first search costs.
func BenchmarkIndex(b *testing.B) {
	d, err := Read(docs.Files)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		d.makeIndex()
	}
}

func BenchmarkSearch(b *testing.B) {
	d, _ := ours()
	for b.Loop() {
		d.Index().Search("yuba drift interval")
	}
}
