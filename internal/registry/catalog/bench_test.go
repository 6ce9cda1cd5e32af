// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// The size of issue 19's numbers.
const (
	manyModules  = 1000
	manyVersions = 50
)

// library is a bucket with many modules, as boring-registry and this program leave it.
func library(b *testing.B, modules int) string {
	b.Helper()
	dir := b.TempDir()
	data := packed(b, `variable "a" {}`)
	put := func(key string, text []byte) {
		path := filepath.Join(dir, filepath.FromSlash(key))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for m := range modules {
		for n := range manyVersions {
			v := layout.ModuleVersion{Module: layout.Module{Namespace: "acme", Name: fmt.Sprintf("module-%d", m), System: "aws"}, Version: fmt.Sprintf("1.%d.0", n)}
			put(v.Key(), data)
			text, err := json.Marshal(map[string]any{"digest": fmt.Sprintf("sha256:%064x", m*manyVersions+n), "size": len(data), "published": time.Unix(0, 0), "by": "eva"})
			if err != nil {
				b.Fatal(err)
			}
			put(v.OwnKey(), text)
		}
	}
	return dir
}

// BenchmarkVersions measures Versions and Release with everything read, and reports the memory of the
// index and the time to open and read the bucket.
func BenchmarkVersions(b *testing.B) {
	bucket := openBucket(b, library(b, manyModules))
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before, began := heap(), time.Now()
	c, err := catalog.Open(b.Context(), bucket, catalog.Options{Spool: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	opened := time.Since(began)
	modules := c.Modules(b.Context())
	for _, m := range modules {
		if list, err := c.Versions(b.Context(), m); err != nil || len(list) != manyVersions || list[0].By != "eva" {
			b.Fatalf("%d, %v", len(list), err)
		}
	}
	read, memory := time.Since(began)-opened, heap()-before
	measure := func(name string, do func(layout.Module) error) {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				m := modules[rand.IntN(len(modules))]
				began := time.Now()
				if err := do(m); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(memory/(1<<20), "index-MiB")
			b.ReportMetric(memory/manyModules/manyVersions, "index-B/release")
			b.ReportMetric(opened.Seconds(), "open-s")
			b.ReportMetric(read.Seconds(), "read-s")
		})
	}
	measure("versions", func(m layout.Module) error { _, err := c.Versions(context.Background(), m); return err })
	measure("release", func(m layout.Module) error {
		_, err := c.Release(context.Background(), layout.ModuleVersion{Module: m, Version: "1.7.0"})
		return err
	})
	measure("modules", func(layout.Module) error { c.Modules(context.Background()); return nil })
}
