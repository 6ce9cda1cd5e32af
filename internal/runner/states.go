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
	"net/http"
	"os"

	"github.com/yuba-dev/yuba/internal/run"
)

// stateShipper keeps every state of a run in the spool until the server has it.
type stateShipper struct {
	job *job
	// memory holds states that could not be written to the spool, a full disk for one.
	memory map[int][]byte
	// closed is true when the server wants nothing more of this run.
	closed bool
	wake   chan struct{}
	finish chan struct{}
	done   chan struct{}
}

func startStateShipper(ctx context.Context, j *job) *stateShipper {
	s := &stateShipper{job: j, memory: map[int][]byte{}, wake: make(chan struct{}, 1), finish: make(chan struct{}), done: make(chan struct{})}
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

// offer takes a complete state unless it is the one that was last taken or put in place.
func (s *stateShipper) offer(state []byte) {
	if !completeState(state) {
		return
	}
	digest := digestOf(state)
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
	j.journal.StateDigest, j.journal.Serial = digest, max(serialOf(state), j.journal.Serial)
	if err := j.spool.writeState(sequence, state); err != nil {
		s.memory[sequence] = state
		j.diskProblem = err
	}
	j.saveJournal()
	j.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
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
		_, err := j.persist(ctx, request{method: http.MethodPut, path: "/state", body: state,
			header: map[string]string{run.HeaderSequence: fmt.Sprint(sequence)}})
		if err != nil && refused(err) == 0 {
			return
		}
		j.mu.Lock()
		if err != nil {
			j.journal.StatesRefused = err.Error()
			j.opts.Log.Error("the server refused a state", "run", j.id, "sequence", sequence, "error", err)
		}
		switch refused(err) {
		case 0, http.StatusConflict: // with a conflict the server keeps the bytes, and later ones are wanted, too
			j.journal.Acknowledged = sequence
			delete(s.memory, sequence)
			_ = os.Remove(j.spool.path(statePath(sequence))) // a state that stays is only sent again
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
	sequence := j.journal.Acknowledged + 1
	if s.closed || sequence > j.journal.States {
		return 0, nil, false
	}
	if state, ok := s.memory[sequence]; ok {
		return sequence, state, true
	}
	state, err := os.ReadFile(j.spool.path(statePath(sequence)))
	if err != nil { // lost with a power cut before it was on disk; a later one, or the working directory, has more
		j.journal.Acknowledged = sequence
		j.opts.Log.Warn("a spooled state is gone", "run", j.id, "sequence", sequence, "error", err)
		return s.after(sequence)
	}
	return sequence, state, true
}

// after looks for the next spooled state behind one that is gone; the lock is held.
func (s *stateShipper) after(gone int) (int, []byte, bool) {
	for sequence := gone + 1; sequence <= s.job.journal.States; sequence++ {
		if state, err := os.ReadFile(s.job.spool.path(statePath(sequence))); err == nil {
			return sequence, state, true
		}
		s.job.journal.Acknowledged = sequence
	}
	return 0, nil, false
}

// stored reports whether every state is with the server or on disk for certain.
func (j *job) stored() bool {
	if j.states.inMemory() {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for n := j.journal.Acknowledged + 1; n <= j.journal.States; n++ {
		if err := j.spool.sync(statePath(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return j.journal.Acknowledged == j.journal.States || j.spool.sync(statesDir, "") == nil
}

// spooled reports whether every state that the server does not have is in the spool.
func (j *job) spooled() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for n := j.journal.Acknowledged + 1; n <= j.journal.States; n++ {
		if _, err := os.Stat(j.spool.path(statePath(n))); err != nil {
			return false
		}
	}
	return true
}

// unsent reports whether states are left that the server does not have.
func (j *job) unsent() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.journal.Acknowledged < j.journal.States
}
