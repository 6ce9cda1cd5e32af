// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
	"github.com/yuba-dev/yuba/test/cloud"
)

// fleetResources is the number of resources of each stack.
const fleetResources = 10

// fleetTrials is the maximum number of trials with fleets of each kind.
const fleetTrials = 3

// The rows of a fleet, as -only names them. "fleet" names all but the last.
const (
	rowApply    = "fleet-apply"
	rowRefresh  = "fleet-refresh"
	rowMemory   = "fleet-memory"
	rowProven   = "fleet-proven"
	rowInput    = "fleet-input"
	rowAPI      = "fleet-api"
	rowCommit   = "fleet-commit"
	rowStart    = "fleet-start"
	rowDownload = "fleet-download"
	rowGrowth   = "fleet-growth"
)

// fleet is a number of similar stacks in one repository. Yuba and plain tofu, in a clone of the
// repository, execute as many at a time.
type fleet struct {
	*bench
	executions *executions
	name, what string
	size       int
	workers    int
	content    content
	// mirror contains the provider, if the fleet needs one.
	mirror string
	// registry serves the provider, if it is to be downloaded.
	registry *registry

	apply, refresh compared
	// written are the writes to the API by the drift checks of refresh.
	written []writes
	memory  memories
	// meanwhile is the CPU usage of Yuba while plain tofu worked, in percent of one core.
	meanwhile []float64
}

// memories are the peak and idle memory of server and runner in bytes; of the idle memory, also the
// runner's part and the pages of files.
type memories struct{ busy, idle, runner, files []float64 }

// measureFleet measures many stacks: mostly with a provider, which tofu has to find, start and
// query for each resource; some with resources built into tofu, and some with larger states.
func (b *bench) measureFleet(ctx context.Context) (err error) {
	// The programs get a directory of their own, so that only their processes are counted.
	directory := b.directory("programs")
	if b.programs, err = b.programs.place(directory); err != nil {
		return err
	}
	mirror, err := b.buildProvider(ctx)
	if err != nil {
		return err
	}
	counter, err := watchExecutions(b.scratch, b.programs.tofu, providerIn(mirror))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, counter.close()) }()
	base := fleet{bench: b, executions: counter, size: b.fleet, workers: max(2, runtime.NumCPU()), mirror: mirror}
	objects, data, large := base, base, base
	objects.name, objects.what, objects.content = "fleet", "the test provider", content{provider: true, lines: linesFor20KiB}
	data.name, data.what, data.content, data.mirror = "fleet-data", "terraform_data", content{lines: dataLinesFor20KiB}, ""
	large.name, large.what, large.content = "fleet-200k", "the test provider, 200 KiB of state", content{provider: true, lines: linesFor200KiB}
	steps := []func(context.Context) error{objects.measure, objects.measureDownloads, data.compare, large.measureMemory, data.measureGrowth}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// place links the programs into a directory.
func (p programs) place(directory string) (programs, error) {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return p, err
	}
	// yuba finds its other programs beside itself.
	beside, err := filepath.Glob(filepath.Join(filepath.Dir(p.yuba), "yuba*"))
	if err != nil {
		return p, err
	}
	for _, path := range append(beside, p.tofu) {
		if err := tofutest.Link(path, filepath.Join(directory, filepath.Base(path))); err != nil {
			return p, err
		}
	}
	return findPrograms(directory)
}

// each describes the fleet.
func (f *fleet) each() string {
	return fmt.Sprintf("%d stacks, %d resources each (%s), %d at a time", f.size, fleetResources, f.what, f.workers)
}

// measure runs trials with the test provider, as many as wanted for the comparison with plain tofu.
// The first trial measures everything else.
func (f *fleet) measure(ctx context.Context) error {
	if !f.wants(rowApply, rowRefresh, rowMemory, rowProven, rowInput, rowAPI, rowCommit, rowStart) {
		return nil
	}
	trials := 1
	if f.wants(rowApply, rowRefresh) {
		trials = min(f.trials, fleetTrials)
	}
	err := f.tryAll(ctx, trials, true)
	if len(f.memory.idle) > 0 {
		f.addMemory("20 KiB of state")
	}
	return err
}

// tryAll runs trials and adds their results, even if a later trial fails.
func (f *fleet) tryAll(ctx context.Context, trials int, everything bool) error {
	var err error
	for trial := range trials {
		if err = f.try(ctx, trial, everything && trial == 0); err != nil {
			err = fmt.Errorf("%s, trial %d: %w", f.name, trial, err)
			break
		}
	}
	f.addComparisons()
	return err
}

// compare only compares a fleet with plain tofu.
func (f *fleet) compare(ctx context.Context) error {
	if !f.wants(rowApply, rowRefresh) {
		return nil
	}
	return f.tryAll(ctx, min(f.trials, fleetTrials), false)
}

// measureMemory only measures the memory that a fleet needs.
func (f *fleet) measureMemory(ctx context.Context) error {
	if !f.wants(rowMemory) {
		return nil
	}
	t, err := f.newTrial(ctx, 0)
	if err != nil {
		return err
	}
	err = t.deploy(ctx)
	if err == nil {
		err = t.noteMemory(ctx)
	}
	if err := errors.Join(err, t.end()); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	f.addMemory("200 KiB of state")
	return nil
}

// try runs one trial. Plain tofu works between the two parts of Yuba's work, while Yuba waits for
// the drift checks to come due.
func (f *fleet) try(ctx context.Context, number int, everything bool) (err error) {
	t, err := f.newTrial(ctx, number)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.end()) }()
	steps := []func(context.Context) error{t.deploy}
	if f.wants(rowMemory) && everything { // before anything comes due
		steps = append(steps, t.noteMemory)
	}
	if f.wants(rowApply, rowRefresh) {
		steps = append(steps, t.byHand)
	}
	if f.wants(rowRefresh) || f.wants(rowAPI) && everything {
		steps = append(steps, t.look)
	}
	if everything {
		steps = append(steps, t.others()...)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// say reports the progress of a trial.
func (t *fleetTrial) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s %s: %s\n", time.Now().Format(time.TimeOnly), t.name, fmt.Sprintf(format, args...))
}

// others are the steps without a comparison with plain tofu.
func (t *fleetTrial) others() []func(context.Context) error {
	var steps []func(context.Context) error
	for _, row := range []struct {
		name string
		step func(context.Context) error
	}{
		{"", t.keepQuiet}, {rowProven, t.measureProven}, {rowInput, t.measureInputs}, {rowCommit, t.measureCommits}, {rowStart, t.measureStart},
	} {
		if row.name == "" || t.wants(row.name) {
			steps = append(steps, row.step)
		}
	}
	return steps
}

func (f *fleet) addComparisons() {
	if f.wants(rowApply) && len(f.apply.byHand) > 0 {
		f.results = append(f.results, f.apply.results(f.name+"-apply", "first apply, "+f.each()+" / init, plan -out, apply", f.size)...)
	}
	if f.wants(rowRefresh) && len(f.refresh.yuba) > 0 && len(f.refresh.byHand) > 0 {
		f.results = append(f.results, f.refresh.results(f.name+"-refresh", "drift check, "+f.each()+" / plan", f.size)...)
	}
	if f.wants(rowAPI) && len(f.written) > 0 {
		f.addWritten()
	}
	if len(f.meanwhile) > 0 {
		f.results = append(f.results, result{Name: f.row("meanwhile"), Unit: "%", Trials: len(f.meanwhile), Value: quantile(f.meanwhile, 0.5),
			What: fmt.Sprintf("CPU of Yuba, in percent of one core, with %d idle stacks while plain tofu works", f.size)})
	}
}

// addWritten adds the drift checks with the most writes.
func (f *fleet) addWritten() {
	most := slices.MaxFunc(f.written, func(a, b writes) int { return cmp.Compare(a.total(), b.total()) })
	f.results = append(f.results, result{Name: f.row("api"), Unit: "writes", Trials: len(f.written) * f.size, Value: float64(most.total()) / float64(f.size),
		What: fmt.Sprintf("writes to the API per drift check without drift, of %d stacks (all: %s)", f.size, most)})
}

func (f *fleet) addMemory(states string) {
	const mb = 1e6
	each := fmt.Sprintf("%d stacks of %s each", f.size, states)
	f.results = append(f.results,
		result{Name: f.name + "-memory-idle", Unit: "MB", Trials: len(f.memory.idle), Value: quantile(f.memory.idle, 0.5) / mb,
			What: fmt.Sprintf("idle memory, server and runner (%.0f), shared pages counted once (%.0f of program files), %s",
				quantile(f.memory.runner, 0.5)/mb, quantile(f.memory.files, 0.5)/mb, each)},
		result{Name: f.name + "-memory-busy", Unit: "MB", Trials: len(f.memory.busy), Value: quantile(f.memory.busy, 0.5) / mb,
			What: "peak memory of server and runner, resident, " + each})
}

// fleetTrial is one fleet with its own Yuba.
type fleetTrial struct {
	*fleet
	name  string
	cloud *cloud.Cloud
	env   []corev1.EnvVar
	git   *gittest.Server
	live  *gittest.Repository
	// outside replaces the test that the git server expects.
	outside *outside
	*connection
	// deployed is when the last stack was ready, interval the drift check interval of all stacks.
	deployed time.Time
	interval time.Duration
}

// newTrial starts a Yuba with the fleet's repository, and creates a ConfigMap for each stack.
func (f *fleet) newTrial(ctx context.Context, number int) (_ *fleetTrial, err error) {
	t := &fleetTrial{fleet: f, name: fmt.Sprintf("%s-%d", f.name, number), cloud: cloud.Start(), outside: &outside{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.end())
		}
	}()
	t.cloud.Slow(f.cloudLatency)
	t.env = environmentOf(t.cloud)
	t.git = gittest.New(t.outside)
	t.live = t.git.Repository(t.outside, "fleet")
	t.live.Commit(t.outside, "first", repository(f.size, f.content))
	if t.outside.failed != nil {
		return nil, t.outside.failed
	}
	if err := t.start(ctx); err != nil {
		return nil, err
	}
	return t, t.prepare(ctx)
}

func environmentOf(c *cloud.Cloud) []corev1.EnvVar {
	return []corev1.EnvVar{{Name: "YUBATEST_ENDPOINT", Value: c.URL()}, {Name: "YUBATEST_TOKEN", Value: c.Token()}}
}

// end stops everything and deletes the data: the next fleet needs the space.
func (t *fleetTrial) end() error {
	var err error
	if t.connection != nil {
		err = t.yuba.stop()
	}
	err = errors.Join(err, t.outside.end())
	t.cloud.Close()
	return errors.Join(err, os.RemoveAll(t.directory(t.name)), os.RemoveAll(t.directory(t.name+"-hand")))
}
