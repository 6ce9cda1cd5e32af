// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package moves

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestALargeStateDoesNotFillTheMemory: the server holds it, and the plans of others go on.
func TestALargeStateDoesNotFillTheMemory(t *testing.T) {
	const size, most = 8 << 20, 12
	var b strings.Builder
	b.WriteString(`{"version":4,"terraform_version":"1.12.0","serial":8,"lineage":"la","outputs":{},"resources":[`)
	attributes := strings.TrimSuffix(strings.Repeat(`{"key":"Name","value":"server","propagate":true},`, 40), ",")
	var steps []Step
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"mode":"managed","type":"x","name":"n%d","provider":"provider[\"registry.opentofu.org/acme/x\"]","instances":[{"schema_version":0,"attributes":{"id":"%d","tags":[%s]},"dependencies":["x.b","x.a"]}]}`, i, i, attributes)
		if i%2 == 0 {
			address := fmt.Sprintf("x.n%d", i)
			steps = append(steps, Step{Verb: Move, State: "a", From: address, ToState: "c", To: address})
		}
	}
	b.WriteString("]}")
	states := map[string][]byte{"a": []byte(b.String()), "c": New("1.6.0", "l")}
	b.Reset()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before := heap()
	var peak atomic.Uint64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			peak.Store(max(peak.Load(), heap()))
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	began := time.Now()
	result, err := Apply(states, steps)
	took := time.Since(began)
	close(done)
	<-ended
	if err != nil || len(result.Moved) != len(steps) || Count(result.States["c"]) != len(steps) {
		t.Fatalf("%d of %d moved: %v", len(result.Moved), len(steps), err)
	}
	factor := float64(max(peak.Load(), before)-before) / size
	t.Logf("%d MB and %d moves: %.1f times its size in %v", size>>20, len(steps), factor, took)
	if factor > most {
		t.Errorf("it takes %.1f times the memory of the state, and may take %d", factor, most)
	}
}
