// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/test/cloud"
)

// fleetResources is how many resources each stack of a fleet has.
const fleetResources = 10

// fleetTrials is how many fleets of each kind are made at most.
const fleetTrials = 3

// fleet is a number of stacks that are all alike, on one Yuba and in directories by hand, carried out as many at a time.
type fleet struct {
	*bench
	name, what string
	size       int
	workers    int
	program    func(stack string) string
	env        []corev1.EnvVar
	mirror     string

	apply, refresh comparison
	busy, idle     []float64
}

// measureFleet compares many stacks with tofu by hand in a loop, once with resources that are built into tofu and once
// with those of a provider, which has to be found, started and asked about each of them.
func (b *bench) measureFleet(ctx context.Context) error {
	mirror, err := b.buildProvider(ctx)
	if err != nil {
		return err
	}
	for _, f := range []*fleet{
		{name: "fleet", what: "terraform_data", program: func(string) string { return program(fleetResources) }},
		{name: "fleet-provider", what: "the test provider", program: providerProgram, mirror: mirror},
	} {
		f.bench, f.size, f.workers = b, b.fleet, max(2, runtime.NumCPU())
		for trial := range min(b.trials, fleetTrials) {
			if err := f.measure(ctx, trial); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
		each := fmt.Sprintf("%d stacks, %d resources each (%s), %d at a time", f.size, fleetResources, f.what, f.workers)
		const mb = 1e6
		b.results = append(b.results,
			f.apply.result(f.name+"-apply", "first apply, "+each+" / init, plan -out, apply"),
			f.refresh.result(f.name+"-refresh", "look for drift, "+each+" / plan"),
			result{Name: f.name + "-memory-busy", Unit: "MB", Trials: len(f.busy), Value: quantile(f.busy, 0.5) / mb, What: "most memory of server and runner, resident, " + each},
			result{Name: f.name + "-memory-idle", Unit: "MB", Trials: len(f.idle), Value: quantile(f.idle, 0.5) / mb, What: "memory of both afterwards, shared pages counted once, " + each})
	}
	return nil
}

func (f *fleet) measure(ctx context.Context, trial int) error {
	c := cloud.Start()
	defer c.Close()
	f.env = []corev1.EnvVar{{Name: "YUBATEST_ENDPOINT", Value: c.URL()}, {Name: "YUBATEST_TOKEN", Value: c.Token()}}
	name := fmt.Sprintf("%s-%d", f.name, trial)
	if err := f.byHand(ctx, name+"-hand"); err != nil {
		return err
	}
	return f.byYuba(ctx, name)
}

func (f *fleet) stackName(i int) string { return fmt.Sprintf("stack-%04d", i) }

// byHand carries out the fleet in directories, with the very programs and the same mirror of providers.
func (f *fleet) byHand(ctx context.Context, name string) error {
	hands := make([]*byHand, f.size)
	for i := range hands {
		h := &byHand{tofu: f.programs.tofu, dir: filepath.Join(f.directory(name), f.stackName(i))}
		for _, e := range f.env {
			h.env = append(h.env, e.Name+"="+e.Value)
		}
		if err := os.MkdirAll(h.dir, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(h.dir, "main.tf"), []byte(f.program("hand-"+f.stackName(i))), 0o600); err != nil {
			return err
		}
		if f.mirror != "" {
			config := filepath.Join(h.dir, "tofu.rc")
			h.env = append(h.env, "TF_CLI_CONFIG_FILE="+config)
			if err := os.WriteFile(config, fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror { path = %q }\n}\n", f.mirror), 0o600); err != nil {
				return err
			}
		}
		hands[i] = h
	}
	took, cpu, err := f.all(hands, func(h *byHand) error { _, err := h.firstApply(ctx); return err })
	if err != nil {
		return err
	}
	f.apply.byHand, f.apply.byHandCPU = append(f.apply.byHand, took), f.apply.byHandCPU+cpu
	took, cpu, err = f.all(hands, func(h *byHand) error { _, err := h.plan(ctx); return err })
	f.refresh.byHand, f.refresh.byHandCPU = append(f.refresh.byHand, took), f.refresh.byHandCPU+cpu
	return err
}

// all does something in each directory, as many at a time as there are workers.
func (f *fleet) all(hands []*byHand, do func(*byHand) error) (took, cpu time.Duration, err error) {
	work, failed := make(chan *byHand), make(chan error, f.workers)
	began := time.Now()
	for range f.workers {
		go func() {
			var err error
			for h := range work {
				if h.cpu = 0; err == nil {
					err = do(h)
				}
			}
			failed <- err
		}()
	}
	for _, h := range hands {
		work <- h
	}
	close(work)
	for range f.workers {
		err = errors.Join(err, <-failed)
	}
	took = time.Since(began)
	for _, h := range hands {
		cpu += h.cpu
	}
	return took, cpu, err
}

// byYuba carries out the fleet on a Yuba of its own.
func (f *fleet) byYuba(ctx context.Context, name string) (err error) {
	args := []string{"-v", "--concurrency", strconv.Itoa(f.workers)}
	if f.mirror != "" {
		args = append(args, "--provider-mirror", f.mirror)
	}
	y, err := f.start(ctx, f.directory(name), args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.stop()) }()
	in := &inputs{}
	if in.client, err = newClient(y.kubeconfig()); err != nil {
		return err
	}
	if err := in.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	if err := f.timed(y, &f.apply, func() error { return f.deploy(ctx, in) }); err != nil {
		return err
	}
	peak, err := peakOf(y.cmd.Process.Pid, y.runner)
	if err != nil {
		return err
	}
	f.busy = append(f.busy, float64(peak))
	if err := pause(ctx, f.interval()); err != nil {
		return err
	}
	if err := f.timed(y, &f.refresh, func() error { return f.look(ctx, in, y) }); err != nil {
		return err
	}
	return f.noteIdle(ctx, y)
}

// noteIdle is what both take once everything is at rest.
func (f *fleet) noteIdle(ctx context.Context, y *yuba) error {
	if err := pause(ctx, f.settle); err != nil {
		return err
	}
	server, err := memoryOf(y.cmd.Process.Pid)
	if err != nil {
		return err
	}
	runner, err := memoryOf(y.runner)
	f.idle = append(f.idle, float64(server.proportional+runner.proportional))
	return err
}

func (f *fleet) timed(y *yuba, c *comparison, do func() error) error {
	before, err := y.cpu()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := do(); err != nil {
		return err
	}
	took := time.Since(began)
	after, err := y.cpu()
	c.yuba, c.yubaCPU = append(c.yuba, took), c.yubaCPU+after-before
	return err
}

func (f *fleet) names() []string {
	var names []string
	for i := range f.size {
		names = append(names, f.stackName(i))
	}
	return names
}

// deploy creates all stacks and waits until the last is ready.
func (f *fleet) deploy(ctx context.Context, in *inputs) error {
	_, err := in.follow(ctx, f.names(), func() error {
		return each(f.names(), func(name string) error {
			stack := newStack(name, 0)
			stack.Spec.Inline, stack.Spec.Env = map[string]string{"main.tf": f.program(name)}, f.env
			return in.client.Create(ctx, stack)
		})
	}, atRest)
	return err
}

// look has each stack looked at for drift once, and waits until all are at rest again. Only the look is timed: before
// it the fleet is left alone for as long as its new interval, so that all of it is due at once and none again.
func (f *fleet) look(ctx context.Context, in *inputs, y *yuba) error {
	patch := fmt.Appendf(nil, `{"spec":{"driftDetectionInterval":%q}}`, f.interval())
	seen := y.log.mark()
	if err := each(f.names(), func(name string) error {
		return in.client.Patch(ctx, newStack(name, 0), client.RawPatch(types.MergePatchType, patch))
	}); err != nil {
		return err
	}
	return y.log.looked(ctx, seen, f.size)
}

// interval is longer than looking at the fleet should take.
func (f *fleet) interval() time.Duration {
	return max(10*time.Second, 3*f.refresh.byHand[len(f.refresh.byHand)-1].Round(time.Second))
}

// each does something for every name, eight at a time.
func each(names []string, do func(string) error) error {
	const clients = 8
	failed := make(chan error, clients)
	for part := range slices.Chunk(names, (len(names)+clients-1)/clients) {
		go func() {
			var err error
			for _, name := range part {
				err = errors.Join(err, do(name))
			}
			failed <- err
		}()
	}
	var err error
	for range slices.Collect(slices.Chunk(names, (len(names)+clients-1)/clients)) {
		err = errors.Join(err, <-failed)
	}
	return err
}

// peakOf is the most memory that processes have had, together.
func peakOf(pids ...int) (int64, error) {
	var total int64
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				n, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
				if err != nil {
					return 0, fmt.Errorf("read the most memory of process %d: %w", pid, err)
				}
				total += n << 10
			}
		}
	}
	return total, nil
}
