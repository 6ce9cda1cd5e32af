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

// Journal is what the next runner must know to take a job over.
type Journal struct {
	// Process is the tofu process last started, nil before the first.
	Process *process.Record `json:"process,omitempty"`
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
	// LostDigest is that of the last state when its file is gone or damaged and none has come in its place. The server may
	// have it all the same. Damaged is true when the file of any state is, so that it is kept for people to look at.
	LostDigest string `json:"lostDigest,omitempty"`
	Damaged    bool   `json:"damaged,omitempty"`
	// StatesRefused is the server's word on why it takes no more states.
	StatesRefused string `json:"statesRefused,omitempty"`
}

// ApplyRecord is the journal as it was right before the apply, and all else that is needed to take the job over: one file
// that is damaged must not cost what the others say.
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
	// ApplyFile is an applyRecord. It is on disk for certain and never written again.
	ApplyFile = "apply.json"
	// PlannedFile has what an apply that plans said that it would do. It is on disk for certain as soon as that was read.
	PlannedFile = "planned.json"
	ResultFile  = "result.json"
	StatesDir   = "states"
	// OutEnd and errEnd end the names of the files that a step's process writes to.
	OutEnd = ".out"
	ErrEnd = ".err"
)

// Book is what a run has on disk: its directory, and the journal that is kept there.
type Book struct {
	Dir Dir
	// Mutex guards the rest.
	sync.Mutex
	Journal Journal
	// DiskProblem is the last error of the disk.
	DiskProblem error
}

// NewBook is the book of a run with this directory. Its journal is empty.
func NewBook(dir string) *Book { return &Book{Dir: Dir{dir}} }

// SaveJournal writes the journal; the lock is held. A journal that cannot be written is no reason to stop: it only matters if this
// process dies, too.
func (b *Book) SaveJournal() {
	if err := b.Dir.WriteJSON(JournalFile, b.Journal); err != nil {
		b.DiskProblem = err
	}
}

// Dir is a job's directory.
type Dir struct{ Root string }

// Path is the absolute path of a file.
func (s Dir) Path(name string) string { return filepath.Join(s.Root, name) }

// Create makes the directory.
func (s Dir) Create() error {
	if err := os.MkdirAll(s.Root, 0o700); err != nil {
		return fmt.Errorf("make the run's directory: %w", err)
	}
	return nil
}

// writeState spools a state. Most runs have none, and then no directory for them.
func (s Dir) writeState(sequence int, state []byte) error {
	if err := os.Mkdir(s.Path(StatesDir), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write state %d: %w", sequence, err)
	}
	return s.write(newStatePath(sequence, state), state)
}

// ReadState reads a spooled state and verifies that it is the one that was written.
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

// write replaces a file as a whole. It does not wait for the disk: the spool survives the death of this process, and
// after the death of the machine the state is where tofu itself synced it, in the working directory. That an apply
// began, and of which run, is what sync takes care of.
func (s Dir) write(name string, data []byte) error {
	temporary := s.Path(name + ".tmp")
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		_ = os.Remove(temporary) // half a file helps nobody
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(temporary, s.Path(name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// WriteJSON writes a value and, on a line of its own, the digest by which damage to it is noticed.
func (s Dir) WriteJSON(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return s.write(name, fmt.Appendf(data, "\n%s\n", Digest(data)))
}

// Sync returns when files and directories of the spool, "" for itself, are on disk.
func (s Dir) Sync(names ...string) error {
	for _, name := range names {
		file, err := os.Open(s.Path(name))
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

// ReadJournal reads the journal. One that is lost, cannot be read or is older than the apply, as after a power cut, gives way
// to the one of before the apply. States that it does not know of are counted. The error says which files cannot be read; the
// rest counts.
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

// LastState is the highest number of a state in the spool, 0 without one.
func (s Dir) LastState() int {
	if all := s.Sequences(); len(all) > 0 {
		return all[len(all)-1]
	}
	return 0
}

// Sequences are the numbers of the states in the spool, in order.
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

// ReadJSON returns false when there is no such file, or one that is damaged or was not written whole. One without a digest is
// of an older runner.
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

// ReadSpec reads what the run is, and its token: from the record of the apply, which is on disk for certain and never written
// again, else from the files of their own. It is false when neither has them, and an error when that is for want of reading.
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

// Token is the run's token, empty when it is lost or damaged. Without any the server's 401 ends the job.
func (s Dir) Token() string {
	text, err := os.ReadFile(s.Path(TokenFile))
	token := strings.TrimSpace(string(text))
	if err != nil || !run.IsToken(token) {
		return ""
	}
	return token
}

// newStatePath is where a state is spooled: its number, and a part of its digest, by which damage is noticed.
func newStatePath(sequence int, state []byte) string {
	return fmt.Sprintf("%s/%06d-%.16s", StatesDir, sequence, strings.TrimPrefix(Digest(state), "sha256:"))
}

// StatePath is where the state of that number is.
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
