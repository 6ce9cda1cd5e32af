// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// stateShipper keeps every state of a run in the spool until the server has it.
type stateShipper struct {
	job *job
	// memory holds states that could not be written to the spool, a full disk for one.
	memory map[int][]byte
	// waiting says of the states that this process took and that wait for the server what they are; sending is the number
	// of the one that is on its way, 0 for none.
	waiting map[int]leftState
	sending int
	// closed is true when the server wants nothing more of this run.
	closed bool
	wake   chan struct{}
	finish chan struct{}
	done   chan struct{}
}

func startStateShipper(ctx context.Context, j *job) *stateShipper {
	s := &stateShipper{job: j, memory: map[int][]byte{}, waiting: map[int]leftState{}, wake: make(chan struct{}, 1), finish: make(chan struct{}), done: make(chan struct{})}
	s.wake <- struct{}{} // the spool may hold states of a runner before
	go func() {
		defer close(s.done)
		s.loop(ctx)
	}()
	return s
}

// close sends what is left and returns when the server has it all or refused it, or ctx of the start ended.
func (s *stateShipper) close() {
	close(s.finish)
	<-s.done
}

// offer takes a complete state unless it is the one that was last taken or put in place. Those before it that it follows, and
// that still wait for the server, give way: a program that writes states without end must not fill the disk.
func (s *stateShipper) offer(state []byte) {
	if !completeState(state) {
		return
	}
	digest, now := digestOf(state), readLeftState("", state)
	j := s.job
	j.mu.Lock()
	last := j.journal.StateDigest
	if last == "" {
		last = j.journal.Initial
	}
	if digest == last {
		j.mu.Unlock()
		return
	}
	j.journal.States++
	sequence := j.journal.States
	j.journal.StateDigest, j.journal.Serial, j.journal.LostDigest = digest, max(now.Serial, j.journal.Serial), ""
	s.waiting[sequence] = now
	if err := j.spool.writeState(sequence, state); err != nil {
		s.memory[sequence] = state
		j.diskProblem = err
	}
	if int64(len(state)) <= orDefault(j.spec.Limits.StateBytes, run.DefaultLimits().StateBytes) { // the server takes no larger one
		s.supersede(sequence, now)
	}
	j.saveJournal()
	j.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// supersede drops the states before a number that wait for the server and that the state of this number follows. Those on
// disk go only when the newer one is on disk for certain. The lock is held.
func (s *stateShipper) supersede(sequence int, now leftState) {
	j := s.job
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
	if err := j.spool.sync(j.spool.statePath(sequence), statesDir); err != nil {
		j.opts.Log.Warn("states that a newer one follows stay in the spool", "run", j.id, "error", err)
		return
	}
	for _, n := range onDisk {
		if err := os.Remove(j.spool.path(j.spool.statePath(n))); err == nil {
			delete(s.waiting, n)
		}
	}
}

// held is how many bytes of states are in memory for want of a disk.
func (s *stateShipper) held() (bytes int64) {
	s.job.mu.Lock()
	defer s.job.mu.Unlock()
	for _, state := range s.memory {
		bytes += int64(len(state))
	}
	return bytes
}

// pending are the numbers of the states that the server has not acknowledged, in order. The last one is named also when it is
// gone; of those before it a newer one has all. The lock is held.
func (s *stateShipper) pending() []int {
	j := s.job
	all := append(slices.Collect(maps.Keys(s.memory)), j.spool.sequences()...)
	all = append(all, j.journal.States)
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(n int) bool { return n <= j.journal.Acknowledged || n > j.journal.States })
}

// inMemory reports whether states are there that no disk had room for.
func (s *stateShipper) inMemory() bool {
	s.job.mu.Lock()
	defer s.job.mu.Unlock()
	return len(s.memory) > 0
}

// completeState tells a whole state from one that is being written: tofu truncates the file and writes it anew. An
// encrypted state is a JSON object, too.
func completeState(state []byte) bool {
	state = bytes.TrimSpace(state)
	return len(state) > 2 && state[0] == '{' && json.Valid(state)
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (s *stateShipper) loop(ctx context.Context) {
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

// ship sends the states in order, each until it is acknowledged or refused for good.
func (s *stateShipper) ship(ctx context.Context) {
	j := s.job
	for ctx.Err() == nil {
		sequence, state, ok := s.next()
		if !ok {
			return
		}
		_, err := j.persist(ctx, request{method: http.MethodPut, path: "/state", body: state, stuck: j.stall,
			header: map[string]string{run.HeaderSequence: fmt.Sprint(sequence)}})
		if err != nil && refused(err) == 0 {
			return
		}
		j.mu.Lock()
		s.sending = 0
		if err != nil {
			j.journal.StatesRefused = err.Error()
			j.opts.Log.Error("the server refused a state", "run", j.id, "sequence", sequence, "error", err)
		}
		switch refused(err) {
		case 0, http.StatusConflict: // with a conflict the server keeps the bytes, and later ones are wanted, too
			j.journal.Acknowledged = sequence
			delete(s.memory, sequence)
			delete(s.waiting, sequence)
			_ = os.Remove(j.spool.path(j.spool.statePath(sequence))) // a state that stays is only sent again
		default:
			s.closed = true
		}
		j.saveJournal()
		j.mu.Unlock()
	}
}

// next returns the oldest state that the server has not acknowledged.
func (s *stateShipper) next() (int, []byte, bool) {
	j := s.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if s.closed {
		return 0, nil, false
	}
	for _, sequence := range s.pending() {
		state, err := s.memory[sequence], error(nil)
		if state == nil {
			state, err = j.spool.readState(sequence)
		}
		if err == nil {
			s.sending = sequence
			return sequence, state, true
		}
		// Lost with a power cut before it was on disk, or damaged: a later one, or the working directory, has more.
		j.opts.Log.Warn("a spooled state cannot be sent", "run", j.id, "sequence", sequence, "error", err)
		j.journal.Acknowledged = sequence
		delete(s.waiting, sequence)
		j.missState(sequence, err)
	}
	return 0, nil, false
}

// unknownDigest stands for that of a state of which nothing is left.
const unknownDigest = "unknown"

// missState notes that a spooled state cannot be read. If it was the last one, what is in the working directory is taken
// again. The lock is held.
func (j *job) missState(sequence int, err error) {
	j.journal.Damaged = j.journal.Damaged || !errors.Is(err, fs.ErrNotExist)
	if sequence == j.journal.States {
		j.journal.LostDigest, j.journal.StateDigest = orText(orText(j.journal.StateDigest, j.journal.LostDigest), unknownDigest), ""
	}
}

// verify notices at once when the last spooled state is gone or damaged: what is in the working directory may be the same.
func (s *stateShipper) verify() {
	j := s.job
	j.mu.Lock()
	defer j.mu.Unlock()
	last := j.journal.States
	if last == 0 || j.journal.Acknowledged >= last || s.memory[last] != nil {
		return
	}
	if _, err := j.spool.readState(last); err != nil {
		j.missState(last, err)
	}
}

// stored reports whether every state is with the server or on disk for certain.
func (j *job) stored() bool {
	if j.states.inMemory() {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, n := range j.states.pending() {
		if err := j.spool.sync(j.spool.statePath(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return j.journal.Acknowledged == j.journal.States || j.spool.sync(statesDir, "") == nil
}

// spooled reports whether every state that the server does not have is in the spool.
func (j *job) spooled() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, n := range j.states.pending() {
		if _, err := j.spool.readState(n); err != nil {
			return false
		}
	}
	return true
}

// unsent reports whether states are left that the server does not have, or what is left of one that was damaged.
func (j *job) unsent() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.journal.Acknowledged < j.journal.States || j.journal.Damaged
}
