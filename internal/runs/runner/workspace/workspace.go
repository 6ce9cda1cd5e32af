// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
)

// Names in a stack's directory. tofu can write below SourceDir, HomeDir, TempDir and PlanDir only.
const (
	SourceDir   = "src"
	HomeDir     = "home"
	TempDir     = "tmp"
	PlanDir     = "plan"
	PlanName    = "tfplan"
	RecordName  = "workspace.json"
	LockName    = "init.lock.hcl"
	OverrideTF  = "yuba_override.tf"
	TfvarsName  = "generated.auto.tfvars.json"
	LockFileTF  = ".terraform.lock.hcl"
	DataDirTF   = ".terraform"
	StateName   = "terraform.tfstate"
	StatesName  = "terraform.tfstate.d"
	ErroredName = "errored.tfstate"
)

// Area holds the working directories of all stacks.
type Area struct {
	Root  string
	Walls *confinement.Walls
	Users *confinement.Users
	Locks *Locks
}

// Order names a working directory and its use.
type Order struct {
	Stack run.Stack
	// Path is the root module, Workspace the tofu workspace; both may be empty.
	Path, Workspace string
	// Own is true for a custom backend.
	Own bool
}

// Workspace is a stack's working directory while a job uses it.
type Workspace struct {
	area  *Area
	stack run.Stack
	Base  string
	// Root is Base. tofu may put links below SourceDir; Root never leaves Base.
	Root   *Root
	Module string // the root module relative to Base
	Dir    string // the same, absolute
	Named  string // the tofu workspace
	Env    []string
	Tool   tools.Tool
	Temp   string
	Record Record
	Unlock func()
	// Unpacked is true if this run unpacked the source, out of reach of earlier processes.
	Unpacked bool
	// Own is true for a custom backend, which may be local, with states in this directory.
	Own bool
}

// NewArea returns the area below a directory. The walls may be set later.
func NewArea(root string, walls *confinement.Walls, users *confinement.Users) *Area {
	return &Area{Root: root, Walls: walls, Users: users, Locks: NewLocks()}
}

// base is a stack's directory.
func (a *Area) base(s run.Stack) string { return filepath.Join(a.Root, s.Namespace, s.Name) }

// Lock locks a stack's directory and returns the unlock function.
func (a *Area) Lock(s run.Stack) func() { return a.Locks.Lock(a.base(s)) }

// Try is Lock without waiting; it returns nil if the directory is in use.
func (a *Area) Try(s run.Stack) func() { return a.Locks.try(a.base(s)) }

// Open opens or creates a stack's directory for programs. It waits for another run of the stack,
// unless claim is the caller's lock.
func (a *Area) Open(o Order, claim func()) (*Workspace, error) {
	w, err := a.Reopen(o, claim)
	if err != nil {
		return nil, err
	}
	if err := w.Settle(w.Record.User); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Reopen is Open for a program of an earlier runner: its files keep their owner.
func (a *Area) Reopen(o Order, claim func()) (*Workspace, error) {
	w := &Workspace{area: a, stack: o.Stack, Base: a.base(o.Stack), Named: o.Workspace, Own: o.Own, Unlock: claim}
	if err := w.check(o); err != nil {
		if claim != nil {
			claim()
		}
		return nil, err
	}
	if claim == nil {
		w.Unlock = a.Lock(o.Stack)
	}
	if err := w.openRoot(o); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// check rejects names that are paths.
func (w *Workspace) check(o Order) error {
	for _, name := range []string{o.Stack.Namespace, o.Stack.Name} {
		if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
			return fault.New(run.FailureConfiguration, "open the working directory of %q: not the name of a stack", o.Stack)
		}
	}
	if w.Named == "" {
		w.Named = "default"
	}
	if w.Named != path.Base(w.Named) || w.Named == "." || w.Named == ".." {
		return fault.New(run.FailureConfiguration, "open the working directory of %s: %q is not the name of a workspace", o.Stack, w.Named)
	}
	return nil
}

func (w *Workspace) openRoot(o Order) error {
	if err := w.area.makeBase(w.Base); err != nil {
		return fault.New(fault.DiskClass(err), "create the working directory of %s: %w", w.stack, err)
	}
	root, err := os.OpenRoot(w.Base)
	if err != nil {
		return fmt.Errorf("open the working directory of %s: %w", w.stack, err)
	}
	w.Root = &Root{Root: root}
	w.Module = path.Join(SourceDir, path.Clean("/"+filepath.ToSlash(o.Path)))
	w.Dir = filepath.Join(w.Base, w.Module)
	switch text, err := root.ReadFile(RecordName); {
	case errors.Is(err, fs.ErrNotExist):
		w.Record = Record{User: w.owner()}
	case err != nil || json.Unmarshal(text, &w.Record) != nil:
		// Unknown owner. An earlier stack of the name is long gone; if it is this one, the
		// directory may have the only copy of a local backend's state.
		w.Record = Record{UID: w.stack.UID, User: w.owner(), Module: w.Module}
	}
	w.Root.User = w.Record.User
	return nil
}

// owner returns the user of the source, 0 for the server's: a running program needs its files even
// if the record is lost.
func (w *Workspace) owner() int {
	info, err := w.Root.Lstat(SourceDir)
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !confinement.MayBeGivenOut(int(stat.Uid)) {
		return 0
	}
	return int(stat.Uid)
}

// Settle gives the program's directories to the user, or to a new one if it is 0 and programs have
// own users. It also hands over directories of an earlier user.
func (w *Workspace) Settle(user int) error {
	switch {
	case !w.area.Walls.Users:
		user = 0
	case user == 0:
		var err error
		if user, err = w.area.Users.Next(); err != nil {
			return fault.New(fault.DiskClass(err), "open the working directory of %s: %w", w.stack, err)
		}
	}
	w.Root.User = user
	if w.Record.User == user && !w.Record.Handover {
		return w.settleStates()
	}
	if err := w.BeginHandover(user); err != nil {
		return err
	}
	return w.handOver()
}

// BeginHandover records the new user before it owns anything, so that no other stack gets it. If
// the runner dies, the next run completes the handover.
func (w *Workspace) BeginHandover(user int) error {
	w.Record.User, w.Record.Handover = user, true
	return w.Save()
}

// handOver gives the directories to the recorded user.
func (w *Workspace) handOver() error {
	for _, name := range programPlaces {
		if err := w.Root.GiveAll(name, w.Record.User); err != nil {
			return fault.New(fault.DiskClass(err), "give the working directory of %s to its user: %w", w.stack, err)
		}
	}
	w.Record.Handover = false
	return w.Save()
}

// Close releases the directory.
func (w *Workspace) Close() {
	if w.Root != nil {
		w.Root.Close()
	}
	w.Unlock()
}

// Save replaces the whole record.
func (w *Workspace) Save() error {
	const fresh = RecordName + ".new"
	text, err := json.Marshal(w.Record)
	if err == nil {
		err = w.Root.WriteFile(fresh, text, 0o600)
	}
	if err == nil {
		err = w.Root.Rename(fresh, RecordName)
	}
	if err != nil {
		return fault.New(fault.DiskClass(err), "write %s: %w", filepath.Join(w.Base, RecordName), err)
	}
	return nil
}

// settleStates gives a local backend's states to the program's user: a user may have added one.
func (w *Workspace) settleStates() error {
	if w.Root.User == 0 || !w.Own {
		return nil
	}
	for _, name := range stateFiles {
		if err := w.Root.GiveAll(w.InModule(name), w.Root.User); err != nil {
			return fault.New(fault.DiskClass(err), "give the state %s to its user: %w", name, err)
		}
	}
	return nil
}

// InModule returns the path, relative to Root, of a file of the root module.
func (w *Workspace) InModule(name string) string { return path.Join(w.Module, name) }

// StateIn returns the path of the workspace's state, relative to the module.
func (w *Workspace) StateIn() string {
	if w.Named == "default" {
		return StateName
	}
	return path.Join(StatesName, w.Named, StateName)
}

// StatePath returns the absolute path of the state.
func (w *Workspace) StatePath() string { return filepath.Join(w.Dir, w.StateIn()) }

// PlanPath returns the path to which tofu writes its plan.
func (w *Workspace) PlanPath() string { return filepath.Join(w.Base, PlanDir, PlanName) }

// Write replaces a file, or a link.
func (w *Workspace) Write(name string, data []byte) error {
	if err := w.Root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.DiskClass(err), "replace %s: %w", name, err)
	}
	file, err := w.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fault.New(fault.DiskClass(err), "write %s: %w", name, err)
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Close()); err != nil {
		return fault.New(fault.DiskClass(err), "write %s: %w", name, err)
	}
	return nil
}

// Open opens a regular file that tofu may have made; a FIFO must not block us. It follows links
// within the stack's directory.
func (w *Workspace) Open(name string) (*os.File, error) {
	file, err := w.Root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// Read reads a file that tofu may have made.
func (w *Workspace) Read(name string, limit int64) ([]byte, error) {
	file, err := w.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadUpTo(file, limit)
}

// ReadUpTo reads a whole file. It rejects holes before it allocates memory: tofu writes none, and
// they cost a program nothing.
func ReadUpTo(file *os.File, limit int64) ([]byte, error) {
	name := filepath.Base(file.Name())
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fault.New(run.FailureLimit, "read %s: it exceeds the limit of %d bytes", name, limit)
	}
	if hole, err := unix.Seek(int(file.Fd()), 0, unix.SEEK_HOLE); err == nil && hole < info.Size() {
		return nil, fault.New(run.FailureLimit, "read %s: it is a sparse file, which tofu never writes", name)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(file, limit+1)); err != nil {
		return nil, err
	}
	if int64(data.Len()) > limit {
		return nil, fault.New(run.FailureLimit, "read %s: it exceeds the limit of %d bytes", name, limit)
	}
	return data.Bytes(), nil
}

// Remove removes files and directories of the root module.
func (w *Workspace) Remove(names ...string) error {
	for _, name := range names {
		if err := w.Root.RemoveAll(w.InModule(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.DiskClass(err), "remove %s: %w", name, err)
		}
	}
	return nil
}

// stateFiles are the files of the local backend beside the root module.
var stateFiles = []string{
	StateName, StateName + ".backup", StatesName, ErroredName, ErroredName + ".backup", ".terraform.tfstate.lock.info",
}

// SecretFiles hold secrets and must not stay between runs.
var SecretFiles = append([]string{TfvarsName}, stateFiles...)

// Places returns the directories that a run writes to.
func (w *Workspace) Places() []string {
	if w.Temp == "" || filepath.Dir(w.Temp) == w.Base {
		return []string{w.Base}
	}
	return []string{w.Base, w.Temp}
}

// ClearSecrets removes files with secrets, but never a custom backend's state.
func (w *Workspace) ClearSecrets() error {
	if w.Own {
		return w.Remove(TfvarsName)
	}
	return w.Remove(SecretFiles...)
}

// CleanUp removes files with secrets, after the states are in the spool.
func (w *Workspace) CleanUp(temp string) {
	// Prepare removes leftovers and reports errors.
	_ = errors.Join(w.ClearSecrets(), w.RemovePlaced(), w.forgetSettings(), w.Root.Remove(CLIConfigName))
	for _, name := range []string{PlanDir, GivenDir, HomeDir, TempDir, ShellBin, ShellHome} {
		_ = w.Root.RemoveAll(name)
	}
	if temp != "" && strings.HasPrefix(temp, TempPrefix) {
		_ = RemoveTree(temp)
	}
}

// makeBase makes a stack's directory, traversable if programs have own users but see the machine's
// file tree.
func (a *Area) makeBase(base string) error {
	mode := os.FileMode(0o700)
	if a.Walls.Users && !a.Walls.Alone() {
		mode = 0o711
	}
	if err := os.MkdirAll(base, mode); err != nil || mode == 0o700 {
		return err
	}
	return errors.Join(os.Chmod(filepath.Dir(base), mode), os.Chmod(base, mode))
}
