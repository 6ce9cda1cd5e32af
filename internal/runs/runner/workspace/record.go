// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"time"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// LeftLock is a lock in a custom backend that a killed process of ours did not release. It was
// taken after the process started and before its first protected action. A waiting process may get
// a lock with the same time, that of its first attempt; so only killed processes leave one.
type LeftLock struct {
	// Who is the tool's name for the holder. The lock was taken between From and To.
	Who       string    `json:"who"`
	Operation string    `json:"operation"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
}

// Is reports whether a lock is the one left. Both times come from the tool on this machine.
func (l *LeftLock) Is(lock *run.Lock) bool {
	return l != nil && lock != nil && l.Who != "" && lock.Who == l.Who && lock.Operation == l.Operation &&
		!lock.Created.Before(l.From) && !lock.Created.After(l.To)
}

// KnownModules describes the remote modules in a working directory.
type KnownModules struct {
	run.Modules
	// List is the digest of the tool's module list at that time.
	List string `json:"list"`
}

// Record describes a stack's directory between runs.
type Record struct {
	UID string `json:"uid"`
	// User owns the program's directories; 0 is the server's user.
	User int `json:"user,omitempty"`
	// Handover is true while the directories are given to User.
	Handover bool   `json:"handover,omitempty"`
	Artifact string `json:"artifact"`
	// Init is the digest of everything that the last successful init depended on.
	Init string `json:"init,omitempty"`
	// Programs is true if init may have run programs, which may have changed its result.
	Programs bool `json:"programs,omitempty"`
	// Unproven is the key of a replayed init until a plan succeeds with it.
	Unproven string `json:"unproven,omitempty"`
	// LockFile is the digest of the dependency lock file after init.
	LockFile string `json:"lockFile,omitempty"`
	// HasLockFile is true if the source has a lock file; LockName is a copy, as init may change it.
	HasLockFile bool `json:"hasLockFile,omitempty"`
	// Module is the root module of the tree.
	Module string `json:"module,omitempty"`
	// Selected is the workspace selected in a custom backend after init.
	Selected string `json:"selected,omitempty"`
	// NotNeeded are providers that the state names but init, with the state, did not install.
	NotNeeded []string `json:"notNeeded,omitempty"`
	// ModulesAsked is when the stack last got remote modules, also by init.
	ModulesAsked time.Time `json:"modulesAsked,omitzero"`
	// Modules are the module store's answers at that time, by call.
	Modules map[string]modules.Answer `json:"modules,omitempty"`
	// Known describes those modules, if the program calls no others.
	Known *KnownModules `json:"known,omitempty"`
	// Uses are the modules and providers of the last init.
	Uses *run.Uses `json:"uses,omitempty"`
	// Brought is true if the source brought a list of installed modules, which is in use.
	Brought bool `json:"brought,omitempty"`
	// Placed are the files of the last run that are not removed yet.
	Placed []string `json:"placed,omitempty"`
	// Settings is true while init's record may have the run's backend settings.
	Settings bool `json:"settings,omitempty"`
	// LeftLock is the lock that the last run may have left in a custom backend.
	LeftLock *LeftLock `json:"leftLock,omitempty"`
}
