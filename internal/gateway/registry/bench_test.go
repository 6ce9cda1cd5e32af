// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// BenchmarkVersions asks for the versions of 1000 modules with 50 versions each over HTTPS and
// reports the slowest hundredth.
func BenchmarkVersions(b *testing.B) {
	s := newSite(b)
	archive := packed(b, "# a module\n")
	for m := range 1000 {
		for v := range 50 {
			key := layout.ModuleVersion{Module: layout.Module{Namespace: "acme", Name: fmt.Sprintf("m%d", m), System: "aws"}, Version: fmt.Sprintf("1.%d.0", v)}.Key()
			path := filepath.Join(s.dir, key)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(path, archive, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	c, err := catalog.Open(b.Context(), s.bucket, catalog.Options{Spool: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	s.server = registry.New(registry.Options{Modules: c, Anonymous: true, Key: []byte("k")})
	handler := s.server.Handler()
	s.http.Config.Handler = handler
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		r, err := s.http.Client().Get(fmt.Sprintf("%s/v1/modules/acme/m%d/aws/versions", s.http.URL, i%1000))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode != http.StatusOK {
			b.Fatal(r.Status, err)
		}
		r.Body.Close()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
