// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// fill takes all that is left of the disk, to the last byte, and returns what gives it back.
func (y *yuba) fill() (release func()) {
	y.t.Helper()
	name := filepath.Join(y.dir, "filler")
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		y.t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it holds nothing
	for size := 1 << 20; size > 0; {
		if _, err := file.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			y.t.Fatal(err)
		}
	}
	return func() {
		if err := os.Remove(name); err != nil {
			y.t.Error(err)
		}
	}
}

// A disk that is full while the fleet applies costs time and nothing else: what tofu did is in the states when there is
// space again.
func TestFullDisk(t *testing.T) {
	y := newYuba(t)
	y.onDevice(400 << 20)
	y.up()
	s := gather(t, newSeed(t), y, "full")
	if err := s.grow(t.Context(), max(6, *stacksFlag/2)); err != nil {
		t.Fatal(err)
	}
	s.settle(t)
	began := time.Now()
	for range max(1, *killsFlag/40) {
		// Each change has its stack apply; the cloud has begun to change when the disk is full.
		for range 6 {
			if err := s.change(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.lookout.await(t.Context(), changing)
		release := y.fill()
		// What is at work comes to its end, whatever that is. Nothing tells when: nobody can write it down.
		pass(t, 8*time.Second)
		release()
		s.settle(t)
	}
	raged := time.Since(began)
	l := s.audit(t)
	for i, change := range s.cloud.Journal() {
		if what := change.Mistaken(); what != "" {
			t.Errorf("change %d: %s %s: %s", i, change.Method, change.Name, what)
		}
	}
	s.report(t, raged, 0, l)
}
