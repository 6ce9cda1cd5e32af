// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// manyHalves is the number of kills of which one must have hit the moment between the two writes.
const manyHalves = 4

// The server dies right after it stored the first version of a state, often before it wrote the
// Secret, and every other copy of the state is lost. Nobody has to act: the version is enough.
func TestAStateThatIsOnlyAVersionIsPutInPlace(t *testing.T) {
	seed := newSeed(t)
	y := newYuba(t)
	y.up()
	s := gather(t, seed, y, "halves")
	s.breaksLocks = true
	s.lookout.watch(t.Context())
	if err := s.grow(t.Context(), 0); err != nil { // the credentials
		t.Fatal(err)
	}
	began := time.Now()
	for range *damagesFlag {
		if err := s.add(t.Context()); err != nil {
			t.Fatal(err)
		}
		st := s.stacks[len(s.stacks)-1]
		if st.own { // its state is elsewhere
			continue
		}
		y.awaitFile("blobs/states/halves/tfstate-default-" + st.name + "/*")
		y.outage(func() {
			y.deleteAll("runner/runs/*/states/*")
			y.deleteAll("work/*/*/src/*.tfstate")
		})
		s.settleListing(t)
	}
	if pushed := s.struck["states pushed by a person"]; pushed > 0 {
		t.Errorf("a person had to push %d states", pushed)
	}
	log, err := os.ReadFile(filepath.Join(y.base, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	finished := bytes.Count(log, []byte("finished an interrupted write of a state"))
	if finished == 0 && *damagesFlag >= manyHalves {
		t.Errorf("the server was killed %d times, and never between the version and the Secret", *damagesFlag)
	}
	s.struck["writes finished"] = finished
	s.auditListing(t)
	s.report(t, time.Since(began), 0, s.auditRecords(t))
}

// awaitFile waits until a file in the data directory matches.
func (y *yuba) awaitFile(pattern string) {
	y.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		found, err := filepath.Glob(filepath.Join(y.dir, pattern))
		if err != nil {
			y.t.Fatal(err)
		}
		if len(found) > 0 {
			return
		}
		if time.Now().After(deadline) {
			y.t.Fatalf("no %s after %s", pattern, patience)
		}
	}
}

// deleteAll deletes the files in the data directory that match.
func (y *yuba) deleteAll(pattern string) {
	y.t.Helper()
	found, err := filepath.Glob(filepath.Join(y.dir, pattern))
	if err != nil {
		y.t.Fatal(err)
	}
	for _, name := range found {
		if err := os.Remove(name); err != nil {
			y.t.Fatal(err)
		}
	}
}
