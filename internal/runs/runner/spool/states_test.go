// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shipper returns the States of a spool directory, without sending.
func shipper(t *testing.T, dir string) *States {
	t.Helper()
	b := NewBook(dir)
	if err := b.Dir.Create(); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.Journal, err = b.Dir.ReadJournal(); err != nil {
		t.Fatal(err)
	}
	return &States{book: b, log: slog.New(slog.DiscardHandler), limit: 1000, memory: map[int][]byte{}, waiting: map[int]Left{}, wake: make(chan struct{}, 1)}
}

// all takes every state off a shipper in sending order.
func (s *States) all() (sent []string) {
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
		s.book.Journal.Acknowledged = sequence
	}
}

// blocked makes a directory in place of a file.
func blocked(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestANewerStateReplacesThoseThatWait(t *testing.T) {
	state := func(lineage string, serial int, name string) []byte {
		return fmt.Appendf(nil, `{"lineage":%q,"serial":%d,"name":%q}`, lineage, serial, name)
	}
	large := strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		states [][]byte
		// sendsFirst is true if the first one is in transit before the others come.
		sendsFirst bool
		// memory are the states that fit on no disk.
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
			dir := t.TempDir()
			s := shipper(t, dir)
			for i, data := range c.states {
				if slices.Contains(c.memory, i+1) { // prevents the write
					blocked(t, s.book.Dir.Path(newStatePath(i+1, data))+".tmp")
				}
				s.Offer(data)
				if i == 0 && c.sendsFirst {
					s.next()
				}
			}
			if diff := cmp.Diff(c.spool, s.book.Dir.Sequences()); diff != "" {
				t.Errorf("in the spool (-want +got):\n%s", diff)
			}
			if len(c.memory) == 0 { // the runner dies, with its journal or without: the next one sends the same
				if next := shipper(t, dir); cmp.Diff(c.want, next.all()) != "" || next.book.Journal.LostDigest != "" || next.book.Journal.States != len(c.states) {
					t.Errorf("after a death: %+v", next.book.Journal)
				}
				if err := os.Remove(s.book.Dir.Path(JournalFile)); err != nil {
					t.Fatal(err)
				}
				if next := shipper(t, dir); cmp.Diff(c.want, next.all()) != "" || next.book.Journal.LostDigest != "" {
					t.Errorf("without a journal: %+v", next.book.Journal)
				}
			}
			if got := s.all(); cmp.Diff(c.want, got) != "" || s.book.Journal.Acknowledged != len(c.states) || s.book.Journal.LostDigest != "" {
				t.Errorf("sent %q, want %q; %+v", got, c.want, s.book.Journal)
			}
		})
	}
}
