// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"fmt"
	"math/rand"
	"strings"
	"syscall"
	"testing"
	"time"
)

// processTime is the CPU time of the process: that of a busy machine says nothing.
func processTime(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// tofuLog are lines as tofu writes them, of so many bytes together.
func tofuLog(size int) [][]byte {
	var lines [][]byte
	for i := 0; size > 0; i++ {
		line := []byte(fmt.Sprintf(`{"@level":"info","@message":"postgresql_grant.tables[\"team-%d\"]: Creation complete after %ds [id=app_public_%d]","@module":"tofu.ui","@timestamp":"2026-05-04T10:%02d:%02d.123456Z","hook":{"resource":{"addr":"postgresql_grant.tables[\"team-%d\"]","module":"","resource":"postgresql_grant.tables[\"team-%d\"]","implied_provider":"postgresql","resource_type":"postgresql_grant","resource_name":"tables","resource_key":"team-%d"},"action":"create","id_key":"id","id_value":"app_public_%d","elapsed_seconds":%d},"type":"apply_complete"}`,
			i, i%60, i, i/60%60, i%60, i, i, i, i, i%60))
		lines, size = append(lines, line), size-len(line)
	}
	return lines
}

// BenchmarkLines is what a log costs, by how many secrets a run has; bytes are those of the log.
func BenchmarkLines(b *testing.B) {
	log := tofuLog(10 << 20)
	for _, count := range []int{1, 20, 1000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			random := rand.New(rand.NewSource(1))
			s := New("default", "stack")
			for range count {
				s.Add(randomSecret(random))
			}
			m := s.Masker(Mark)
			b.SetBytes(10 << 20)
			b.ReportAllocs()
			for b.Loop() {
				for _, line := range log {
					m.Line(line)
				}
			}
		})
	}
}

// BenchmarkMasker is what it costs to get ready, once a run.
func BenchmarkMasker(b *testing.B) {
	for _, count := range []int{1, 20, 1000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			random := rand.New(rand.NewSource(1))
			s := New()
			for range count {
				s.Add(randomSecret(random))
			}
			b.ReportAllocs()
			for b.Loop() {
				s.Masker(Mark)
			}
		})
	}
	b.Run("a file of 1 MiB", func(b *testing.B) {
		s := New()
		s.AddFile([]byte(strings.Repeat(`client-key-data: "LS0tLS1CRUdJTi", `, 32<<10)))
		b.ReportAllocs()
		for b.Loop() {
			s.Masker(Mark)
		}
	})
}
