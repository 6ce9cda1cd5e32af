// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/run"
)

// journal is what the next runner must know to take a job over.
type journal struct {
	// Process is the tofu process last started, nil before the first.
	Process *processRecord `json:"process,omitempty"`
	// ApplyStarted is set before tofu apply is started.
	ApplyStarted bool `json:"applyStarted,omitempty"`
	// Direct is true when that apply plans, too.
	Direct   bool             `json:"direct,omitempty"`
	Plan     *run.PlanResult  `json:"plan,omitempty"`
	LockFile []byte           `json:"lockFile,omitempty"`
	Steps    []run.StepReport `json:"steps,omitempty"`
	TempDir  string           `json:"tempDir,omitempty"`

	// Initial is the digest of the state put in place before the run, Serial the serial of the last one known.
	Initial string `json:"initial,omitempty"`
	Serial  uint64 `json:"serial,omitempty"`
	// States is how many states were spooled, Acknowledged how many of them the server has.
	States       int    `json:"states,omitempty"`
	Acknowledged int    `json:"acknowledged,omitempty"`
	StateDigest  string `json:"stateDigest,omitempty"`
	// StatesRefused is the server's word on why it takes no more states.
	StatesRefused string `json:"statesRefused,omitempty"`
}

// processRecord identifies a process for as long as the machine is up.
type processRecord struct {
	Step run.Step `json:"step"`
	PID  int      `json:"pid"`
	// Start is the process's start time in clock ticks since boot, Boot the boot's id.
	Start string `json:"start"`
	Boot  string `json:"boot"`
	// LogStart is how long the log was when the process was started.
	LogStart int64 `json:"logStart"`
}

// Names in a job's directory.
const (
	specFile    = "spec.json"
	tokenFile   = "token"
	logFile     = "log.jsonl"
	journalFile = "journal.json"
	// applyFile is the journal as it was right before the apply. It is on disk for certain and never written again.
	applyFile  = "apply.json"
	resultFile = "result.json"
	statesDir  = "states"
)

// spool is a job's directory.
type spool struct{ dir string }

func (s spool) path(name string) string { return filepath.Join(s.dir, name) }

func (s spool) create() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("make the run's directory: %w", err)
	}
	return nil
}

// writeState spools a state. Most runs have none, and then no directory for them.
func (s spool) writeState(sequence int, state []byte) error {
	if err := os.Mkdir(s.path(statesDir), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write state %d: %w", sequence, err)
	}
	return s.write(statePath(sequence), state)
}

// write replaces a file as a whole. It does not wait for the disk: the spool survives the death of this process, and
// after the death of the machine the state is where tofu itself synced it, in the working directory. That an apply
// began, and of which run, is what sync takes care of.
func (s spool) write(name string, data []byte) error {
	temporary := s.path(name + ".tmp")
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		_ = os.Remove(temporary) // half a file helps nobody
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(temporary, s.path(name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (s spool) writeJSON(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return s.write(name, data)
}

// sync returns when files and directories of the spool, "" for itself, are on disk.
func (s spool) sync(names ...string) error {
	for _, name := range names {
		file, err := os.Open(s.path(name))
		if err != nil {
			return fmt.Errorf("store %s for certain: %w", name, err)
		}
		err = file.Sync()
		file.Close()
		if err != nil {
			return fmt.Errorf("store %s for certain: %w", file.Name(), err)
		}
	}
	return nil
}

// readJournal reads the journal. One that is lost or older than the apply, as after a power cut, gives way to the one
// of before the apply. States that it does not know of are counted.
func (s spool) readJournal() (journal, error) {
	var now, before journal
	if _, err := s.readJSON(journalFile, &now); err != nil {
		return now, err
	}
	began, err := s.readJSON(applyFile, &before)
	if err != nil {
		return now, err
	}
	if began && !now.ApplyStarted {
		now = before
	}
	now.States = max(now.States, s.lastState())
	return now, nil
}

// lastState is the highest number of a state in the spool, 0 without one.
func (s spool) lastState() int {
	entries, _ := os.ReadDir(s.path(statesDir)) // in the order of their names; without the directory there is none
	for _, entry := range slices.Backward(entries) {
		if n, err := strconv.Atoi(entry.Name()); err == nil {
			return n
		}
	}
	return 0
}

// readJSON returns false when there is no such file, or none that was written whole.
func (s spool) readJSON(name string, into any) (bool, error) {
	data, err := os.ReadFile(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	return json.Unmarshal(data, into) == nil, nil
}

func (s spool) token() string {
	text, _ := os.ReadFile(s.path(tokenFile)) // without a token the server's 401 ends the job
	return strings.TrimSpace(string(text))
}

func statePath(sequence int) string { return fmt.Sprintf("%s/%06d", statesDir, sequence) }
