// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/initflow"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/meter"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// The parts of a job. Each knows the parts that it needs, and no part knows the job.

// equipment is what all jobs of a runner share.
type equipment struct {
	opts      Options
	server    *link.Server
	tools     *tools.Box
	area      *workspace.Area
	inits     *keptInits
	artifacts *workspace.Artifacts
	trees     *workspace.Trees
	// store keeps providers for all stacks; nil without one.
	store *providers.Store
	// modules keeps modules from elsewhere for all stacks; nil without a store of providers.
	modules *modules.Store
	// places are taken by the jobs that work.
	places chan struct{}
	// walls are what confines programs here, users those that they get.
	walls confinement.Walls
	users *confinement.Users
	// meter measures what runs take.
	meter *meter.Meter
	// processes counts the tofu processes that are running.
	processes atomic.Int32
}

// task is what a run is to do, what came of it, and what it has to say.
type task struct {
	*equipment
	*spool.Book
	id    string
	token string
	spec  run.Spec
	// given is the spec that came with the run, nil from a server that waits to be asked.
	given  *run.Spec
	mask   *mask.Masker
	log    *spool.Log
	logs   *spool.LogShipper
	result run.Result
	stop   stopper
}

func newTask(e *equipment, dir, id, token string) *task {
	t := &task{equipment: e, Book: spool.NewBook(dir), id: id, token: token}
	t.result.Confined = e.walls.Complete()
	return t
}

// turn is the job's place among those that work.
type turn struct {
	task *task
	r    *runner
	// placed is true while the job has one of the runner's places, since placedAt; ending once it needs none any more.
	placed, ending bool
	placedAt       time.Time
	// stuck is true while its state waits for a person. The runner's lock guards it and ending.
	stuck bool
	// unplaced is true for a job that the server gave until it has had a place. The runner's lock guards it.
	unplaced bool
}

// site is the working directory, and the files that a run needs there.
type site struct {
	task *task
	// space is nil until the working directory is opened.
	space *workspace.Workspace
	// claim gives back the working directory's lock, when it was taken before the directory was opened.
	claim func()
}

func newSite(t *task) *site { return &site{task: t} }

// prepareStep makes the working directory what the run's spec says.
type prepareStep struct {
	task    *task
	site    *site
	keeper  *stateKeeper
	program *supervisor
}

// stateKeeper brings the state into the working directory, and every state that is written from there to the spool.
type stateKeeper struct {
	task *task
	site *site
	// states is nil until the log is open.
	states *spool.States
	// ahead brings the state that was asked for before it is needed; nil when none was.
	ahead chan fetchedState
	// givenState is the digest of the state that the server gave, see run.ContinueRequest; stateFetched the status with
	// which it answered.
	givenState   string
	stateFetched int
	// offered is the state file that was read last.
	offered workspace.Stamp
	// rescuedState is a state that tofu could not store where it belongs.
	rescuedState []byte
}

func newStateKeeper(t *task, at *site) *stateKeeper { return &stateKeeper{task: t, site: at} }

// downloads are the parts of the stores that the run's downloads come from and go to.
type downloads struct {
	task   *task
	site   *site
	scoped scoped
}

// supervisor runs tofu in the working directory and reads what it says.
type supervisor struct {
	task   *task
	site   *site
	keeper *stateKeeper
	// mirrors are the directories that providers are linked from.
	mirrors func() []string
	// subject is the run as the meter knows it, nil before its first process.
	subject *meter.Subject
	// orderly are the steps whose last process ended in good order.
	orderly map[run.Step]bool
	// direct is true once the run plans and applies with one process; begun once that process has begun to change
	// something.
	direct bool
	begun  atomic.Bool
	// initSaid are the warnings of init.
	initSaid diagnostic.List
	// logStart is how long the log was when the running process was started.
	logStart int64
	// doubt says why lines of the last process's output may be missing; empty when it was read whole. reserve is how much
	// disk space is set aside ahead of the running process's output, secured up to where there is some.
	doubt            string
	reserve, secured int64
}

func newSupervisor(t *task, at *site, keeper *stateKeeper) *supervisor {
	return &supervisor{task: t, site: at, keeper: keeper, orderly: map[run.Step]bool{}}
}

// lockKeeper knows which lock a run has left in a backend of the stack's own, and breaks locks.
type lockKeeper struct {
	task    *task
	site    *site
	program *supervisor
}

func newLockKeeper(t *task, at *site, program *supervisor) *lockKeeper {
	return &lockKeeper{task: t, site: at, program: program}
}

// moduleStep puts modules of the module store in place.
type moduleStep struct {
	task      *task
	site      *site
	program   *supervisor
	downloads *downloads
	// used is what the run has from the store.
	used moduleUse
}

// providerStep has providers in the provider store, and offers them to init.
type providerStep struct {
	task      *task
	site      *site
	program   *supervisor
	downloads *downloads
	modules   *moduleStep
	providing providing
}

// newInitStep makes the step, and has the supervisor let programs execute the providers that init links.
func newInitStep(t *task, at *site, keeper *stateKeeper, program *supervisor) *initStep {
	d := &downloads{task: t, site: at}
	m := &moduleStep{task: t, site: at, program: program, downloads: d}
	program.mirrors = d.mirrors
	return &initStep{task: t, site: at, keeper: keeper, program: program, downloads: d, modules: m,
		providers: &providerStep{task: t, site: at, program: program, downloads: d, modules: m}}
}

// initStep acts for the machine of package initflow.
type initStep struct {
	task      *task
	site      *site
	keeper    *stateKeeper
	program   *supervisor
	downloads *downloads
	modules   *moduleStep
	providers *providerStep
	// initState is how far init has come; initKey names what this run's init depends on, empty when that is not known.
	initState initflow.State
	initKey   string
}

// planStep makes the plan, shows it, and asks whether to go on.
type planStep struct {
	task    *task
	site    *site
	keeper  *stateKeeper
	program *supervisor
	locks   *lockKeeper
	init    *initStep
	// aside does what waits for others, and lets another run work meanwhile.
	aside func(context.Context, func(context.Context) error) error
	// held is the plan that is shown and applied.
	held workspace.Plan
}

// applyStep applies the plan, or plans and applies in one go, and says what came of it.
type applyStep struct {
	task     *task
	site     *site
	keeper   *stateKeeper
	program  *supervisor
	locks    *lockKeeper
	init     *initStep
	planning *planStep
	// nothingDone is true when planning and applying in one go came to nothing.
	nothingDone bool
}

// stateStep changes the state and nothing else.
type stateStep struct {
	task     *task
	site     *site
	keeper   *stateKeeper
	program  *supervisor
	planning *planStep
}
