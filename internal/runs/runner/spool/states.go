// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"

	"github.com/yuba-dev/yuba/internal/runs/runner/link"
)

// Send sends one state. The error is a refusal, or the end of ctx.
type Send func(ctx context.Context, sequence int, state []byte) error

// States keeps every state of a run in the spool until the server has it.
type States struct {
	book *Book
	send Send
	log  *slog.Logger
	// limit is the largest size of a state that the server takes.
	limit int64
	// memory holds states that could not be spooled, as when the disk is full.
	memory map[int][]byte
	// waiting describes states that this process took and the server lacks. sending is the number
	// of the one in transit, or 0.
	waiting map[int]Left
	sending int
	// closed is true if the server takes no more states of this run.
	closed bool
	wake   chan struct{}
	finish chan struct{}
	done   chan struct{}
}

// KeepStates keeps a run's states and sends them until Close, or the end of ctx.
func KeepStates(ctx context.Context, b *Book, limit int64, send Send, log *slog.Logger) *States {
	s := &States{book: b, send: send, log: log, limit: limit, memory: map[int][]byte{}, waiting: map[int]Left{}, wake: make(chan struct{}, 1), finish: make(chan struct{}), done: make(chan struct{})}
	s.wake <- struct{}{} // the spool may have states of an earlier runner
	go func() {
		defer close(s.done)
		s.loop(ctx)
	}()
	return s
}

// Close returns when the server has or refused everything, or the context of KeepStates ended.
func (s *States) Close() {
	close(s.finish)
	<-s.done
}

// Offer takes a complete state unless it is the last one taken or put in place. It drops the
// waiting states that this one follows: a program's endless states must not fill the disk.
func (s *States) Offer(state []byte) {
	if !Complete(state) {
		return
	}
	digest, now := Digest(state), ReadLeft("", state)
	b := s.book
	b.Lock()
	last := b.Journal.StateDigest
	if last == "" {
		last = b.Journal.Initial
	}
	if digest == last {
		b.Unlock()
		return
	}
	b.Journal.States++
	sequence := b.Journal.States
	b.Journal.StateDigest, b.Journal.Serial, b.Journal.LostDigest = digest, max(now.Serial, b.Journal.Serial), ""
	s.waiting[sequence] = now
	if err := b.Dir.writeState(sequence, state); err != nil {
		s.memory[sequence] = state
		b.DiskProblem = err
	}
	if int64(len(state)) <= s.limit { // the server refuses larger ones
		s.supersede(sequence, now)
	}
	b.SaveJournal()
	b.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// supersede drops waiting states that the state with this number follows; those on disk only after
// that one is synced. The lock is held.
func (s *States) supersede(sequence int, now Left) {
	b := s.book
	var onDisk []int
	for n, w := range s.waiting {
		switch {
		case n >= sequence || n == s.sending || now.Lineage == "" || w.Lineage != now.Lineage || w.Serial > now.Serial:
		case s.memory[n] != nil:
			delete(s.memory, n)
			delete(s.waiting, n)
		case s.memory[sequence] == nil:
			onDisk = append(onDisk, n)
		}
	}
	if len(onDisk) == 0 {
		return
	}
	if err := b.Dir.Sync(b.Dir.StatePath(sequence), StatesDir); err != nil {
		s.log.Warn("superseded states stay in the spool", "error", err)
		return
	}
	for _, n := range onDisk {
		if err := os.Remove(b.Dir.Path(b.Dir.StatePath(n))); err == nil {
			delete(s.waiting, n)
		}
	}
}

// Held returns the bytes of states in memory for lack of disk space.
func (s *States) Held() (bytes int64) {
	s.book.Lock()
	defer s.book.Unlock()
	for _, state := range s.memory {
		bytes += int64(len(state))
	}
	return bytes
}

// pending returns the numbers of the unacknowledged states in order, always with the last one, even
// if its file is lost: newer states replace older ones. The lock is held.
func (s *States) pending() []int {
	b := s.book
	all := append(slices.Collect(maps.Keys(s.memory)), b.Dir.Sequences()...)
	all = append(all, b.Journal.States)
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(n int) bool { return n <= b.Journal.Acknowledged || n > b.Journal.States })
}

// InMemory reports whether there are states that fit on no disk.
func (s *States) InMemory() bool {
	s.book.Lock()
	defer s.book.Unlock()
	return len(s.memory) > 0
}

// Complete detects incomplete states: tofu truncates the file and rewrites it. Encrypted states are
// JSON objects, too.
func Complete(state []byte) bool {
	state = bytes.TrimSpace(state)
	return len(state) > 2 && state[0] == '{' && json.Valid(state)
}

// Digest identifies the exact bytes of a file.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (s *States) loop(ctx context.Context) {
	for {
		select {
		case <-s.wake:
			s.ship(ctx)
		case <-s.finish:
			s.ship(ctx)
			return
		case <-ctx.Done():
			return
		}
	}
}

// ship sends the states in order, each until it is acknowledged or finally refused.
func (s *States) ship(ctx context.Context) {
	b := s.book
	for ctx.Err() == nil {
		sequence, state, ok := s.next()
		if !ok {
			return
		}
		err := s.send(ctx, sequence, state)
		if err != nil && link.Refused(err) == 0 {
			return
		}
		b.Lock()
		s.sending = 0
		if err != nil {
			b.Journal.StatesRefused = err.Error()
			s.log.Error("the server refused a state", "sequence", sequence, "error", err)
		}
		switch link.Refused(err) {
		case 0, http.StatusConflict: // on a conflict the server keeps the bytes, and takes later states
			b.Journal.Acknowledged = sequence
			delete(s.memory, sequence)
			delete(s.waiting, sequence)
			_ = os.Remove(b.Dir.Path(b.Dir.StatePath(sequence))) // if it stays, it is only sent again
		default:
			s.closed = true
		}
		b.SaveJournal()
		b.Unlock()
	}
}

// next returns the oldest unacknowledged state.
func (s *States) next() (int, []byte, bool) {
	b := s.book
	b.Lock()
	defer b.Unlock()
	if s.closed {
		return 0, nil, false
	}
	for _, sequence := range s.pending() {
		state, err := s.memory[sequence], error(nil)
		if state == nil {
			state, err = b.Dir.ReadState(sequence)
		}
		if err == nil {
			s.sending = sequence
			return sequence, state, true
		}
		// Lost in a power cut, or damaged: a later state, or the working directory, has more.
		s.log.Warn("a spooled state cannot be sent", "sequence", sequence, "error", err)
		b.Journal.Acknowledged = sequence
		delete(s.waiting, sequence)
		b.missState(sequence, err)
	}
	return 0, nil, false
}

// unknownDigest stands for the digest of a state that is lost entirely.
const unknownDigest = "unknown"

// missState records an unreadable state. If it was the last, the state in the working directory is
// taken again. The lock is held.
func (b *Book) missState(sequence int, err error) {
	b.Journal.Damaged = b.Journal.Damaged || !errors.Is(err, fs.ErrNotExist)
	if sequence == b.Journal.States {
		b.Journal.LostDigest, b.Journal.StateDigest = cmp.Or(b.Journal.StateDigest, b.Journal.LostDigest, unknownDigest), ""
	}
}

// Verify notices a lost last state early, as the working directory may have the same.
func (s *States) Verify() {
	b := s.book
	b.Lock()
	defer b.Unlock()
	last := b.Journal.States
	if last == 0 || b.Journal.Acknowledged >= last || s.memory[last] != nil {
		return
	}
	if _, err := b.Dir.ReadState(last); err != nil {
		b.missState(last, err)
	}
}

// Stored reports whether every state is on the server or synced to disk.
func (s *States) Stored() bool {
	if s.InMemory() {
		return false
	}
	b := s.book
	b.Lock()
	defer b.Unlock()
	for _, n := range s.pending() {
		if err := b.Dir.Sync(b.Dir.StatePath(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return b.Journal.Acknowledged == b.Journal.States || b.Dir.Sync(StatesDir, "") == nil
}

// Spooled reports whether the spool has every state that the server lacks.
func (s *States) Spooled() bool {
	b := s.book
	b.Lock()
	defer b.Unlock()
	for _, n := range s.pending() {
		if _, err := b.Dir.ReadState(n); err != nil {
			return false
		}
	}
	return true
}

// Unsent reports whether the spool has states that the server lacks, or damaged ones.
func (b *Book) Unsent() bool {
	b.Lock()
	defer b.Unlock()
	return b.Journal.Acknowledged < b.Journal.States || b.Journal.Damaged
}
