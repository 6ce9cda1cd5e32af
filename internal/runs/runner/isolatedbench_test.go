// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// BenchmarkIsolatedNetwork applies ten resources, in turn with the machine's network and an isolated
// one, and reports what the isolation adds to a run. CPU times include those of the relays.
func BenchmarkIsolatedNetwork(b *testing.B) {
	bench := newBench(b)
	bench.needsTunnels()
	bench.start()
	var host, alone cost
	for n := range b.N {
		for i, allow := range []string{"", "*"} {
			r := bench.stack(fmt.Sprintf("bench-%d-%d", n, i), run.OperationPlanAndApply, program(tenThings))
			if allow != "" {
				isolated(r, allow)
			}
			c := []*cost{&host, &alone}[i]
			var after cost
			c.of(func() { bench.succeed(r) })
			after.of(func() { // the relay's time counts once it has ended
				for len(relaysOf(b, bench)) > 0 {
					time.Sleep(time.Millisecond)
				}
				time.Sleep(5 * time.Millisecond)
			})
			c.cpu += after.cpu
		}
	}
	per := func(a, b float64, n int) float64 { return (a - b) / float64(n) }
	b.ReportMetric(per(alone.wall.Seconds(), host.wall.Seconds(), b.N)*1000, "wall-ms-added/op")
	b.ReportMetric(per(alone.cpu.Seconds(), host.cpu.Seconds(), b.N)*1000, "cpu-ms-added/op")
	b.ReportMetric(host.wall.Seconds()/float64(b.N)*1000, "host-wall-ms/op")
	b.ReportMetric(host.cpu.Seconds()/float64(b.N)*1000, "host-cpu-ms/op")
}
