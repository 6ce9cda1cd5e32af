// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

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
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
)

// Names in a stack's directory. tofu can write below sourceDir, homeDir, tempDir and planDir only.
const (
	sourceDir   = "src"
	homeDir     = "home"
	tempDir     = "tmp"
	planDir     = "plan"
	planName    = "tfplan"
	recordName  = "workspace.json"
	lockName    = "init.lock.hcl"
	overrideTF  = "yuba_override.tf"
	tfvarsName  = "generated.auto.tfvars.json"
	lockFileTF  = ".terraform.lock.hcl"
	dataDirTF   = ".terraform"
	stateName   = "terraform.tfstate"
	statesName  = "terraform.tfstate.d"
	erroredName = "errored.tfstate"
)

// area holds the working directories of all stacks.
type area struct {
	root  string
	walls *confinement.Walls
	users *confinement.Users
	locks *locks
}

// order says whose working directory is wanted, and for what.
type order struct {
	stack run.Stack
	// path is the root module's, workspace the tofu workspace; empty for the default.
	path, workspace string
	// own is true for a stack with a backend of its own.
	own bool
}

// workspace is a stack's working directory while a job uses it.
type workspace struct {
	area  *area
	stack run.Stack
	base  string
	// root is base. Everything below sourceDir may be of tofu's making, links included: root never leaves base.
	root   *stackRoot
	module string // the root module relative to base
	dir    string // the same, absolute
	named  string // the tofu workspace
	env    []string
	tool   tools.Tool
	temp   string
	record workspaceRecord
	unlock func()
	// unpacked is true when this run has unpacked the source: no process of an earlier run can write there.
	unpacked bool
	// own is true for a stack with a backend of its own. That may be the local one: then its states are its own, too.
	own bool
}

// workspaceRecord is what is known of a stack's directory between runs.
type workspaceRecord struct {
	UID string `json:"uid"`
	// User is the program's own, to whom its directories belong; 0 when that is the server's.
	User int `json:"user,omitempty"`
	// Handover is true while those directories are being given to the user.
	Handover bool   `json:"handover,omitempty"`
	Artifact string `json:"artifact"`
	// Init is the digest of all that init depends on, of the last one that succeeded.
	Init string `json:"init,omitempty"`
	// Programs is true when init may have started programs of the stack: they may have had a hand in what it left.
	Programs bool `json:"programs,omitempty"`
	// Unproven names what was put in place instead of that init, until a plan has shown that nothing is missing.
	Unproven string `json:"unproven,omitempty"`
	// LockFile is the digest of the dependency lock file after it.
	LockFile string `json:"lockFile,omitempty"`
	// HasLockFile is true when the source brings a lock file of its own; it is kept as lockName, because init may
	// change the one in the tree.
	HasLockFile bool `json:"hasLockFile,omitempty"`
	// Module is the root module whose files are in the tree.
	Module string `json:"module,omitempty"`
	// Selected is the workspace that is selected in an own backend after it.
	Selected string `json:"selected,omitempty"`
	// NotNeeded are providers that the state names and that init, having seen it, did not find needed.
	NotNeeded []string `json:"notNeeded,omitempty"`
	// ModulesAsked is when the stack last got modules from elsewhere, or had init get them.
	ModulesAsked time.Time `json:"modulesAsked,omitzero"`
	// Modules are the answers of the store of modules that it got then, by calls.
	Modules map[string]modules.Answer `json:"modules,omitempty"`
	// Known is what was found in those modules, when they are all that the program calls.
	Known *knownModules `json:"known,omitempty"`
	// Placed are the files that came with the last run, until they are removed.
	Placed []string `json:"placed,omitempty"`
	// Settings is true while init remembers settings of the backend that came with a run.
	Settings bool `json:"settings,omitempty"`
	// LeftLock is the lock that the last run may have left in a backend of the stack's own.
	LeftLock *leftLock `json:"leftLock,omitempty"`
}

// base is a stack's directory.
func (a *area) base(s run.Stack) string { return filepath.Join(a.root, s.Namespace, s.Name) }

// lock waits until nobody works in a stack's directory and returns what gives it back.
func (a *area) lock(s run.Stack) func() { return a.locks.lock(a.base(s)) }

// try is lock for a directory that nobody should use yet; it returns nil when somebody does.
func (a *area) try(s run.Stack) func() { return a.locks.try(a.base(s)) }

// open opens, and makes if need be, the directory of a stack for programs to work in. It waits for a run of the same stack to
// leave, unless the claim is the lock that the caller has.
func (a *area) open(o order, claim func()) (*workspace, error) {
	w, err := a.reopen(o, claim)
	if err != nil {
		return nil, err
	}
	if err := w.settle(w.record.User); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// reopen is open while a program of an earlier runner may still work there: its files stay its own.
func (a *area) reopen(o order, claim func()) (*workspace, error) {
	w := &workspace{area: a, stack: o.stack, base: a.base(o.stack), named: o.workspace, own: o.own, unlock: claim}
	if err := w.check(o); err != nil {
		if claim != nil {
			claim()
		}
		return nil, err
	}
	if claim == nil {
		w.unlock = a.lock(o.stack)
	}
	if err := w.openRoot(o); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// check refuses names that would be paths.
func (w *workspace) check(o order) error {
	for _, name := range []string{o.stack.Namespace, o.stack.Name} {
		if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
			return fault.New(run.FailureConfiguration, "open the working directory of %q: not the name of a stack", o.stack)
		}
	}
	if w.named == "" {
		w.named = "default"
	}
	if w.named != path.Base(w.named) || w.named == "." || w.named == ".." {
		return fault.New(run.FailureConfiguration, "open the working directory of %s: %q is not the name of a workspace", o.stack, w.named)
	}
	return nil
}

func (w *workspace) openRoot(o order) error {
	if err := w.area.makeBase(w.base); err != nil {
		return fault.New(fault.DiskClass(err), "make the working directory of %s: %w", w.stack, err)
	}
	root, err := os.OpenRoot(w.base)
	if err != nil {
		return fmt.Errorf("open the working directory of %s: %w", w.stack, err)
	}
	w.root = &stackRoot{Root: root}
	w.module = path.Join(sourceDir, path.Clean("/"+filepath.ToSlash(o.path)))
	w.dir = filepath.Join(w.base, w.module)
	switch text, err := root.ReadFile(recordName); {
	case errors.Is(err, fs.ErrNotExist):
		w.record = workspaceRecord{User: w.owner()}
	case err != nil || json.Unmarshal(text, &w.record) != nil:
		// Whose the directory was is not known. If it was not this stack's, that is long gone; if it was, it may have the only
		// copy of a state: that of a local backend.
		w.record = workspaceRecord{UID: w.stack.UID, User: w.owner(), Module: w.module}
	}
	w.root.user = w.record.User
	return nil
}

// owner is the user to whom the source belongs, 0 when that is the server's: a program that still runs needs its files even
// if the record is lost.
func (w *workspace) owner() int {
	info, err := w.root.Lstat(sourceDir)
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !confinement.MayBeGivenOut(int(stat.Uid)) {
		return 0
	}
	return int(stat.Uid)
}

// settle gives the program's directories to its user: this one, or a new one where programs have users of their own and it
// is nobody. Directories of before, when they had others, change hands.
func (w *workspace) settle(user int) error {
	switch {
	case !w.area.walls.Users:
		user = 0
	case user == 0:
		var err error
		if user, err = w.area.users.Next(); err != nil {
			return fault.New(fault.DiskClass(err), "open the working directory of %s: %w", w.stack, err)
		}
	}
	w.root.user = user
	if w.record.User == user && !w.record.Handover {
		return w.settleStates()
	}
	if err := w.beginHandover(user); err != nil {
		return err
	}
	return w.handOver()
}

// beginHandover records the new user before anything is the user's, so that nobody else gets it. The record also says that
// the directories still change hands: a runner that dies meanwhile leaves the rest to the next run.
func (w *workspace) beginHandover(user int) error {
	w.record.User, w.record.Handover = user, true
	return w.save()
}

// handOver gives the directories to the recorded user.
func (w *workspace) handOver() error {
	for _, name := range programPlaces {
		if err := w.root.giveAll(name, w.record.User); err != nil {
			return fault.New(fault.DiskClass(err), "give the working directory of %s to its user: %w", w.stack, err)
		}
	}
	w.record.Handover = false
	return w.save()
}

func (w *workspace) close() {
	if w.root != nil {
		w.root.Close()
	}
	w.unlock()
}

// save writes the record as a whole: half of one would be none.
func (w *workspace) save() error {
	const fresh = recordName + ".new"
	err := w.root.WriteFile(fresh, mustJSON(w.record), 0o600)
	if err == nil {
		err = w.root.Rename(fresh, recordName)
	}
	if err != nil {
		return fault.New(fault.DiskClass(err), "write %s: %w", filepath.Join(w.base, recordName), err)
	}
	return nil
}

// settleStates gives the program's user the states that its own backend keeps there: a person may have put one in place.
func (w *workspace) settleStates() error {
	if w.root.user == 0 || !w.own {
		return nil
	}
	for _, name := range stateFiles {
		if err := w.root.giveAll(w.inModule(name), w.root.user); err != nil {
			return fault.New(fault.DiskClass(err), "give the state %s to its user: %w", name, err)
		}
	}
	return nil
}

// inModule is the path of a file of the root module, relative to root.
func (w *workspace) inModule(name string) string { return path.Join(w.module, name) }

// stateIn is where the state of the workspace is, relative to the module.
func (w *workspace) stateIn() string {
	if w.named == "default" {
		return stateName
	}
	return path.Join(statesName, w.named, stateName)
}

func (w *workspace) statePath() string { return filepath.Join(w.dir, w.stateIn()) }
func (w *workspace) planPath() string  { return filepath.Join(w.base, planDir, planName) }

// write puts a file in place. One that is there, a link perhaps, goes first.
func (w *workspace) write(name string, data []byte) error {
	if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.DiskClass(err), "replace %s: %w", name, err)
	}
	file, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fault.New(fault.DiskClass(err), "write %s: %w", name, err)
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Close()); err != nil {
		return fault.New(fault.DiskClass(err), "write %s: %w", name, err)
	}
	return nil
}

// open opens a file that tofu may have made: no device, no pipe that would keep us waiting. A link is followed, but to no
// file that is not the stack's own.
func (w *workspace) open(name string) (*os.File, error) {
	file, err := w.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
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

// read reads a file that tofu may have made.
func (w *workspace) read(name string, limit int64) ([]byte, error) {
	file, err := w.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readUpTo(file, limit)
}

// readUpTo reads a file whole. Memory is taken only for a file that is within the limit and has no hole: tofu leaves none in
// what it writes, and a hole costs a program nothing.
func readUpTo(file *os.File, limit int64) ([]byte, error) {
	name := filepath.Base(file.Name())
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fault.New(run.FailureLimit, "read %s: it is over the limit of %d bytes", name, limit)
	}
	if hole, err := unix.Seek(int(file.Fd()), 0, unix.SEEK_HOLE); err == nil && hole < info.Size() {
		return nil, fault.New(run.FailureLimit, "read %s: it has a hole, and tofu writes none", name)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(file, limit+1)); err != nil {
		return nil, err
	}
	if int64(data.Len()) > limit {
		return nil, fault.New(run.FailureLimit, "read %s: it is over the limit of %d bytes", name, limit)
	}
	return data.Bytes(), nil
}

// remove removes files and directories of the root module.
func (w *workspace) remove(names ...string) error {
	for _, name := range names {
		if err := w.root.RemoveAll(w.inModule(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.DiskClass(err), "remove %s: %w", name, err)
		}
	}
	return nil
}

// stateFiles are what the local backend writes beside the root module.
var stateFiles = []string{
	stateName, stateName + ".backup", statesName, erroredName, erroredName + ".backup", ".terraform.tfstate.lock.info",
}

// secretFiles hold secrets and have no business in the directory between runs.
var secretFiles = append([]string{tfvarsName}, stateFiles...)

// places are the directories that hold what a run writes.
func (w *workspace) places() []string {
	if w.temp == "" || filepath.Dir(w.temp) == w.base {
		return []string{w.base}
	}
	return []string{w.base, w.temp}
}

// clearSecrets removes what holds secrets, but never a state that the stack's own backend keeps there.
func (w *workspace) clearSecrets() error {
	if w.own {
		return w.remove(tfvarsName)
	}
	return w.remove(secretFiles...)
}

// cleanUp removes what holds secrets, after the states are in the spool.
func (w *workspace) cleanUp(temp string) {
	// Prepare removes what is left and reports.
	_ = errors.Join(w.clearSecrets(), w.removePlaced(), w.forgetSettings(), w.root.Remove(cliConfigName))
	for _, name := range []string{planDir, givenDir, homeDir, tempDir, shellBin, shellHome} {
		_ = w.root.RemoveAll(name)
	}
	if temp != "" && strings.HasPrefix(temp, tempPrefix) {
		_ = removeTree(temp)
	}
}

// makeBase makes a stack's directory. Where programs have users of their own but see the machine's file tree, they have to
// come through to theirs; what is in it keeps its own modes.
func (a *area) makeBase(base string) error {
	mode := os.FileMode(0o700)
	if a.walls.Users && !a.walls.Alone() {
		mode = 0o711
	}
	if err := os.MkdirAll(base, mode); err != nil || mode == 0o700 {
		return err
	}
	return errors.Join(os.Chmod(filepath.Dir(base), mode), os.Chmod(base, mode))
}
