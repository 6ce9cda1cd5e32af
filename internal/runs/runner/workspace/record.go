// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"time"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// LeftLock is the lock that a process of ours took in a backend of the stack's own, and did not give back because it was
// killed. The process's own words tell when it took it: after it was started, and before it did what only the holder may
// do. Who waited for it meanwhile may have a lock of the same age by now, for a lock is as old as the first attempt to get
// it: so a process that ended in good order left none, whatever is there.
type LeftLock struct {
	// Who is how the tool names the holder, Operation what it does, From and To when it took the lock.
	Who       string    `json:"who"`
	Operation string    `json:"operation"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
}

// Is reports whether a lock is the one that was left. Both times are the tool's own, and so is the clock, as the holder
// is of this machine.
func (l *LeftLock) Is(lock *run.Lock) bool {
	return l != nil && lock != nil && l.Who != "" && lock.Who == l.Who && lock.Operation == l.Operation &&
		!lock.Created.Before(l.From) && !lock.Created.After(l.To)
}

// KnownModules is what is known of the modules from elsewhere in a working directory.
type KnownModules struct {
	run.Modules
	// List is the digest of the tool's list that they were put in place with.
	List string `json:"list"`
}

// Record is what is known of a stack's directory between runs.
type Record struct {
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
	Known *KnownModules `json:"known,omitempty"`
	// Placed are the files that came with the last run, until they are removed.
	Placed []string `json:"placed,omitempty"`
	// Settings is true while init remembers settings of the backend that came with a run.
	Settings bool `json:"settings,omitempty"`
	// LeftLock is the lock that the last run may have left in a backend of the stack's own.
	LeftLock *LeftLock `json:"leftLock,omitempty"`
}
