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

// fill fills the disk to the last byte, and returns a function that frees the space.
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

// A disk that is full while the fleet applies only costs time: the states contain all of tofu's
// changes when there is space again.
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
		// Each change makes its stack apply. The disk is full after the cloud has begun to change.
		for range 6 {
			if err := s.change(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.lookout.await(t.Context(), changing)
		release := y.fill()
		// Active runs end in some way. No event shows their end, because nothing can be written.
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
