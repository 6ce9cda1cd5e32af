// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// shipper is a job's that sends nothing by itself.
func (b *bench) shipper(id string) *stateShipper {
	b.t.Helper()
	j := b.runner().newJob(id, "")
	j.spec.Limits = run.DefaultLimits()
	j.spec.Limits.StateBytes = 1000
	if err := j.spool.create(); err != nil {
		b.t.Fatal(err)
	}
	var err error
	if j.journal, err = j.spool.readJournal(); err != nil {
		b.t.Fatal(err)
	}
	j.states = &stateShipper{book: j.book, log: slog.New(slog.DiscardHandler), limit: 1000, memory: map[int][]byte{}, waiting: map[int]leftState{}, wake: make(chan struct{}, 1)}
	return j.states
}

// all takes every state off a shipper in the order in which it would be sent.
func (s *stateShipper) all() (sent []string) {
	for {
		sequence, state, ok := s.next()
		if !ok {
			return sent
		}
		var l struct{ Name string }
		if err := json.Unmarshal(state, &l); err != nil {
			return append(sent, err.Error())
		}
		sent = append(sent, fmt.Sprint(sequence, " ", l.Name))
		s.book.journal.Acknowledged = sequence
	}
}

// blocked makes a directory where a file is to be written.
func (b *bench) blocked(path string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		b.t.Fatal(err)
	}
}

func TestANewerStateReplacesThoseThatWait(t *testing.T) {
	state := func(lineage string, serial int, name string) []byte {
		return fmt.Appendf(nil, `{"lineage":%q,"serial":%d,"name":%q}`, lineage, serial, name)
	}
	large := strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		states [][]byte
		// sendsFirst is true when the first one is on its way before the others come.
		sendsFirst bool
		// memory are those that no disk has room for.
		memory []int
		want   []string
		spool  []int
	}{
		"only the newest counts":                    {[][]byte{state("l", 1, "a"), state("l", 1, "b"), state("l", 2, "c")}, false, nil, []string{"3 c"}, []int{3}},
		"one is on its way":                         {[][]byte{state("l", 1, "a"), state("l", 1, "b"), state("l", 1, "c")}, true, nil, []string{"1 a", "3 c"}, []int{1, 3}},
		"another lineage follows nothing":           {[][]byte{state("l", 1, "a"), state("m", 1, "b"), state("m", 1, "c")}, false, nil, []string{"1 a", "3 c"}, []int{1, 3}},
		"an older serial follows nothing":           {[][]byte{state("l", 2, "a"), state("l", 1, "b")}, false, nil, []string{"1 a", "2 b"}, []int{1, 2}},
		"without a lineage nobody knows":            {[][]byte{state("", 1, "a"), state("", 1, "b")}, false, nil, []string{"1 a", "2 b"}, []int{1, 2}},
		"the server takes none that is too large":   {[][]byte{state("l", 1, "a"), state("l", 1, large)}, false, nil, []string{"1 a", "2 " + large}, []int{1, 2}},
		"the newest is in memory only":              {[][]byte{state("l", 1, "a"), state("l", 1, "b"), state("l", 1, "c")}, false, []int{2, 3}, []string{"1 a", "3 c"}, []int{1}},
		"the newest is on disk, those before not":   {[][]byte{state("l", 1, "a"), state("l", 1, "b"), state("l", 1, "c")}, false, []int{1, 2}, []string{"3 c"}, []int{3}},
		"what tofu wrote last follows all it wrote": {[][]byte{state("l", 1, "a"), state("m", 9, "x"), state("l", 1, "b")}, false, nil, []string{"2 x", "3 b"}, []int{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			s := b.shipper("one")
			for i, data := range c.states {
				if slices.Contains(c.memory, i+1) { // no file can be made there
					b.blocked(s.book.spool.path(newStatePath(i+1, data)) + ".tmp")
				}
				s.offer(data)
				if i == 0 && c.sendsFirst {
					s.next()
				}
			}
			if diff := cmp.Diff(c.spool, s.book.spool.sequences()); diff != "" {
				t.Errorf("in the spool (-want +got):\n%s", diff)
			}
			if len(c.memory) == 0 { // the runner dies, with its journal or without: the next one sends the same
				if next := b.shipper("one"); cmp.Diff(c.want, next.all()) != "" || next.book.journal.LostDigest != "" || next.book.journal.States != len(c.states) {
					t.Errorf("after a death: %+v", next.book.journal)
				}
				if err := os.Remove(s.book.spool.path(journalFile)); err != nil {
					t.Fatal(err)
				}
				if next := b.shipper("one"); cmp.Diff(c.want, next.all()) != "" || next.book.journal.LostDigest != "" {
					t.Errorf("without a journal: %+v", next.book.journal)
				}
			}
			if got := s.all(); cmp.Diff(c.want, got) != "" || s.book.journal.Acknowledged != len(c.states) || s.book.journal.LostDigest != "" {
				t.Errorf("sent %q, want %q; %+v", got, c.want, s.book.journal)
			}
		})
	}
}

// scribbling has a program write a state over tofu's again and again, and tofu then finish. It writes each at once: what it
// was still writing when it is stopped would spoil the state that tofu writes then.
func scribbling(times int, state string) string {
	return fmt.Sprintf(`
resource "terraform_data" "kept" {}
resource "terraform_data" "scribbler" {
  depends_on = [terraform_data.kept]
  provisioner "local-exec" {
    command = "head -c 4000000 /dev/zero | tr '\\0' x > filling; until [ -e go ]; do sleep 0.05; done; i=0; while [ $i -lt %d ]; do i=$((i+1)); { %s; cat filling; printf '\"}'; } > next; dd if=next of=terraform.tfstate bs=8M 2>/dev/null; sleep 0.4; done"
  }
}`, times, state)
}

// While no server answers, states come without end: few of them are kept, and the last one is not lost.
func TestStatesWithoutEndFillNoDisk(t *testing.T) {
	for name, c := range map[string]struct {
		times int
		state string
		class run.Failure
	}{
		"of tofu's own lineage": {15, `printf '{\"version\":4,\"serial\":1,\"lineage\":\"%s\",\"i\":\"%s' $lineage $i`, ""},
		"of one each":           {1000, `printf '{\"version\":4,\"serial\":1,\"lineage\":\"%s\",\"i\":\"' $i`, run.FailureLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.opts.ServerGone = time.Minute
			b.start()
			text := strings.Replace(scribbling(c.times, c.state), "i=0;", `lineage=$(sed -n 's/.*\"lineage\": *\"\\([^\"]*\\)\".*/\\1/p' terraform.tfstate | head -n 1); i=0;`, 1)
			r := b.stack("scribbled", run.OperationPlanAndApply, program(text))
			r.spec.Limits.Run.DiskBytes = 40 << 20
			b.server.submit(r)
			b.server.wait(r, "the creation of the first", func() bool { return strings.Contains(string(r.log), "terraform_data.kept: Creation complete") })
			b.server.stop()
			b.put(filepath.Join(b.opts.WorkRoot, "team", "scribbled", sourceDir, "go"), nil)
			most := 0
			eventually(t, "a result in the spool", func() bool {
				most = max(most, len(spool{b.spooled(r, "")}.sequences()))
				_, err := os.Stat(b.spooled(r, resultFile))
				return err == nil
			})
			spooled := b.journal(r).States
			b.server.start()
			result := b.server.finished(r)
			if c.class == "" && most > 3 || spooled < 4 { // a slow machine sees fewer than were written
				t.Errorf("%d of %d states in the spool at once", most, spooled)
			}
			if result.Class != c.class || c.class != "" && !strings.Contains(result.Error, "(--run-disk)") {
				t.Errorf("%s %s: %s", result.Outcome, result.Class, result.Error)
			}
			if last := string(r.lastState()); !strings.Contains(last, `"kept"`) || result.StateDigest != digestOf(r.lastState()) {
				t.Errorf("the last of %d states is %.100s\n%s", len(r.states), last, r.log)
			}
		})
	}
}
