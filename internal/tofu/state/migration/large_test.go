// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// largeState is a state of about that many bytes, with many small attributes: the form that costs the most
// memory when it is decoded.
func largeState(size int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"version":4,"terraform_version":"1.12.0","serial":8,"lineage":"la","outputs":{},"resources":[`)
	attributes := strings.Repeat(`{"key":"Name","value":"server","propagate":true},`, 40)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"mode":"managed","type":"x","name":"n%d","provider":"provider[\"registry.opentofu.org/acme/x\"]","instances":[{"schema_version":0,"attributes":{"id":"%d","tags":[%s]},"dependencies":["x.b","x.a"]}]}`,
			i, i, strings.TrimSuffix(attributes, ","))
	}
	b.WriteString("]}")
	return []byte(b.String())
}

// peakOf is by how much the heap grows at most while do works.
func peakOf(do func()) uint64 {
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
	do()
	close(done)
	<-ended
	return max(peak.Load(), before) - before
}

// TestALargeStateDoesNotFillTheMemory: a runner may have little more than the state's own size.
func TestALargeStateDoesNotFillTheMemory(t *testing.T) {
	source := largeState(4 << 20)
	next, err := Raise(source)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	peak := peakOf(func() {
		if verb, err := Judge(source, nil); verb != Copy || err != nil {
			t.Errorf("%s, %v", verb, err)
		}
		if verb, err := Judge(source, next); verb != Keep || err != nil {
			t.Errorf("%s, %v", verb, err)
		}
		if _, err := Prove(source, next); err != nil {
			t.Error(err)
		}
	})
	factor := float64(peak) / float64(len(source))
	t.Logf("%d MB: %.1f times its size in %v", len(source)>>20, factor, time.Since(began))
	if factor > 5 { // it was 52 when whole states were decoded; most of the rest waits for the garbage collector
		t.Errorf("it takes %.1f times the memory of the state", factor)
	}
}
