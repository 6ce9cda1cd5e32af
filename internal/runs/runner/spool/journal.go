// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
)

// Journal is what the next runner needs to take a job over.
type Journal struct {
	// Process is the tofu process last started, nil before the first.
	Process *process.Record `json:"process,omitempty"`
	// ApplyStarted is set before tofu apply is started.
	ApplyStarted bool `json:"applyStarted,omitempty"`
	// Direct is true if that apply plans, too.
	Direct   bool            `json:"direct,omitempty"`
	Plan     *run.PlanResult `json:"plan,omitempty"`
	LockFile []byte          `json:"lockFile,omitempty"`
	// Steps are a copy: the journal is also saved while states are sent, and meanwhile steps report.
	Steps   []run.StepReport `json:"steps,omitempty"`
	TempDir string           `json:"tempDir,omitempty"`

	// Initial is the digest of the state before the run, Serial the last known serial.
	Initial string `json:"initial,omitempty"`
	Serial  uint64 `json:"serial,omitempty"`
	// States is the number of spooled states, Acknowledged of those the server has.
	States       int    `json:"states,omitempty"`
	Acknowledged int    `json:"acknowledged,omitempty"`
	StateDigest  string `json:"stateDigest,omitempty"`
	// LostDigest is the digest of a last state whose file is lost or damaged and not replaced; the
	// server may have it. Damaged is true if any state's file is damaged: users may want it.
	LostDigest string `json:"lostDigest,omitempty"`
	Damaged    bool   `json:"damaged,omitempty"`
	// StatesRefused is the server's reason for taking no more states.
	StatesRefused string `json:"statesRefused,omitempty"`
}

// ApplyRecord is the journal right before the apply, and everything else that is needed to take the
// job over, so that damage to one file does not make the others useless.
type ApplyRecord struct {
	Journal
	Spec  *run.Spec `json:"spec,omitempty"`
	Token string    `json:"token,omitempty"`
}

// Names in a job's directory.
const (
	SpecFile    = "spec.json"
	TokenFile   = "token"
	LogFile     = "log.jsonl"
	JournalFile = "journal.json"
	// ApplyFile is an ApplyRecord. It is synced and never written again.
	ApplyFile = "apply.json"
	// PlannedFile is the plan of a direct apply, synced as soon as it is read.
	PlannedFile = "planned.json"
	ResultFile  = "result.json"
	StatesDir   = "states"
	// OutEnd and ErrEnd are suffixes of a process's output files, after the step.
	OutEnd = ".out"
	ErrEnd = ".err"
)

// Book is a run's directory with its journal.
type Book struct {
	Dir Dir
	// Mutex guards the rest.
	sync.Mutex
	Journal Journal
	// DiskProblem is the last disk error.
	DiskProblem error
}

// NewBook returns the book of a directory, with an empty journal.
func NewBook(dir string) *Book { return &Book{Dir: Dir{dir}} }

// SaveJournal writes the journal; the lock is held. A failure does not stop the run: it only
// matters if this process dies, too.
func (b *Book) SaveJournal() {
	if err := b.Dir.WriteJSON(JournalFile, b.Journal); err != nil {
		b.DiskProblem = err
	}
}

// Dir is a job's directory.
type Dir struct{ Root string }

// Path returns the absolute path of a file.
func (s Dir) Path(name string) string { return filepath.Join(s.Root, name) }

// Create makes the directory.
func (s Dir) Create() error {
	if err := os.MkdirAll(s.Root, 0o700); err != nil {
		return fmt.Errorf("create the run's directory: %w", err)
	}
	return nil
}

// writeState spools a state. It creates the directory, which most runs do not need.
func (s Dir) writeState(sequence int, state []byte) error {
	if err := os.Mkdir(s.Path(StatesDir), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write state %d: %w", sequence, err)
	}
	return s.write(newStatePath(sequence, state), state)
}

// ReadState reads a spooled state and verifies its digest.
func (s Dir) ReadState(sequence int) ([]byte, error) {
	name := s.StatePath(sequence)
	state, err := os.ReadFile(s.Path(name))
	if err != nil {
		return nil, err
	}
	_, want, named := strings.Cut(filepath.Base(name), "-")
	if !Complete(state) || named && newStatePath(sequence, state) != name {
		return nil, fmt.Errorf("%s is damaged (want digest %s)", name, want)
	}
	return state, nil
}

// write replaces a whole file. It does not sync: the spool only has to survive this process. After
// a machine crash, tofu's own synced state is in the working directory.
func (s Dir) write(name string, data []byte) error {
	temporary := s.Path(name + ".tmp")
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		_ = os.Remove(temporary) // incomplete
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(temporary, s.Path(name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// WriteJSON writes a value and, on a second line, its digest.
func (s Dir) WriteJSON(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return s.write(name, fmt.Appendf(data, "\n%s\n", Digest(data)))
}

// Sync flushes files and directories of the spool ("" is its root) to disk.
func (s Dir) Sync(names ...string) error {
	for _, name := range names {
		file, err := os.Open(s.Path(name))
		if err != nil {
			return fmt.Errorf("sync %s: %w", name, err)
		}
		err = file.Sync()
		file.Close()
		if err != nil {
			return fmt.Errorf("sync %s: %w", file.Name(), err)
		}
	}
	return nil
}

// ReadJournal reads the journal. If it is lost, damaged or older than the apply, as after a power
// cut, the apply record's replaces it. It counts states unknown to the journal. The error names
// unreadable files.
func (s Dir) ReadJournal() (Journal, error) {
	var now Journal
	var before ApplyRecord
	_, err := s.ReadJSON(JournalFile, &now)
	began, beforeErr := s.ReadJSON(ApplyFile, &before)
	if began && !now.ApplyStarted {
		now = before.Journal
	}
	if now.Plan == nil {
		var planned run.PlanResult
		said, plannedErr := s.ReadJSON(PlannedFile, &planned)
		if said {
			now.Plan = &planned
		}
		err = errors.Join(err, plannedErr)
	}
	now.States = max(now.States, s.LastState())
	return now, errors.Join(err, beforeErr)
}

// LastState returns the highest number of a spooled state, or 0.
func (s Dir) LastState() int {
	if all := s.Sequences(); len(all) > 0 {
		return all[len(all)-1]
	}
	return 0
}

// Sequences returns the numbers of the spooled states in order.
func (s Dir) Sequences() []int {
	var all []int
	entries, _ := os.ReadDir(s.Path(StatesDir)) // without the directory there is none
	for _, entry := range entries {
		number, _, _ := strings.Cut(entry.Name(), "-")
		if n, err := strconv.Atoi(number); err == nil && !strings.HasSuffix(entry.Name(), ".tmp") {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

// ReadJSON returns false if the file is missing, damaged or incomplete. Older runners wrote no
// digest.
func (s Dir) ReadJSON(name string, into any) (bool, error) {
	text, err := os.ReadFile(s.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	data, digest, sealed := bytes.Cut(text, []byte("\n"))
	if sealed && Digest(data) != strings.TrimSpace(string(digest)) {
		return false, nil
	}
	return json.Unmarshal(data, into) == nil, nil
}

// ReadSpec reads spec and token from the apply record, else from their own files. It returns false
// if both lack them, and an error if one cannot be read.
func (s Dir) ReadSpec(into *run.Spec) (token string, known bool, err error) {
	var kept ApplyRecord
	began, err := s.ReadJSON(ApplyFile, &kept)
	if token = s.Token(); began && kept.Spec != nil {
		*into = *kept.Spec
		if run.IsToken(kept.Token) {
			token = kept.Token
		}
		return token, true, nil
	}
	known, specErr := s.ReadJSON(SpecFile, into)
	if known {
		return token, true, nil
	}
	return token, false, errors.Join(specErr, err)
}

// Token returns the run's token; empty if lost or damaged. Then the server's 401 ends the job.
func (s Dir) Token() string {
	text, err := os.ReadFile(s.Path(TokenFile))
	token := strings.TrimSpace(string(text))
	if err != nil || !run.IsToken(token) {
		return ""
	}
	return token
}

// newStatePath names a state by number and part of its digest, which reveals damage.
func newStatePath(sequence int, state []byte) string {
	return fmt.Sprintf("%s/%06d-%.16s", StatesDir, sequence, strings.TrimPrefix(Digest(state), "sha256:"))
}

// StatePath returns the path of the state with that number.
func (s Dir) StatePath(sequence int) string {
	number := fmt.Sprintf("%06d", sequence)
	entries, _ := os.ReadDir(s.Path(StatesDir)) // without the directory it is nowhere
	for _, entry := range entries {
		if name := entry.Name(); name == number || strings.HasPrefix(name, number+"-") && !strings.HasSuffix(name, ".tmp") {
			return StatesDir + "/" + name
		}
	}
	return StatesDir + "/" + number
}
