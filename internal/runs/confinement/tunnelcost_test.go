// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// BenchmarkRelay starts /bin/true behind all walls, in turn with the machine's network and one of its
// own, and reports what the relay adds.
func BenchmarkRelay(b *testing.B) {
	dir := b.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		b.Fatal(err)
	}
	walls, err := Probe(b.Context(), theStage.sandbox, dir)
	if err := errors.Join(err, walls.ProbeTunnel(b.Context())); err != nil {
		b.Fatal(err)
	}
	cell, err := makeCell(scene{Dir: dir, Self: theStage.self}, walls, "cost")
	if err != nil {
		b.Fatal(err)
	}
	// The real program instead of the one of tests.
	if err := buildProgram(theStage.relay, "github.com/yuba-dev/yuba/cmd/yuba-network"); err != nil {
		b.Fatal(err)
	}
	var wall, cpu [2]time.Duration
	for range b.N {
		for i, relay := range []*Relay{nil, {Allow: []string{"*"}}} {
			c := cell
			c.NoNetwork, c.Relay = relay != nil, relay
			began, before := time.Now(), childTime()
			cmd := walls.Command(context.Background(), c, "/bin/true")
			done, err := walls.StartRelay(c, cmd)
			if err != nil {
				b.Fatal(err)
			}
			err = cmd.Run()
			done()
			wall[i] += time.Since(began)
			if err != nil {
				b.Fatal(err)
			}
			for len(childrenOf(os.Getpid())) > 0 {
				time.Sleep(100 * time.Microsecond)
			}
			cpu[i] += childTime() - before
		}
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) / 1000 }
	b.ReportMetric(ms(wall[0]), "host-wall-ms/op")
	b.ReportMetric(ms(wall[1]-wall[0]), "wall-ms-added/op")
	b.ReportMetric(ms(cpu[0]), "host-cpu-ms/op")
	b.ReportMetric(ms(cpu[1]-cpu[0]), "cpu-ms-added/op")
}

// childTime is the CPU time of children that were waited for.
func childTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
