// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

// Names of the objects that all stacks of a fleet read.
const (
	fleetSource = "fleet"
	fleetCommon = "common"
)

// quietInterval is long enough that nothing comes due.
const quietInterval = 12 * time.Hour

// connection is a running Yuba with clients for it.
type connection struct {
	yuba   *yuba
	client client.WithWatch
	raw    rest.Interface
}

// start starts Yuba with the trial's data directory.
func (t *fleetTrial) start(ctx context.Context) error {
	args := []string{"-v", "--concurrency", strconv.Itoa(t.workers)}
	if t.mirror != "" {
		args = append(args, "--provider-mirror", t.mirror)
	}
	y, err := t.bench.start(ctx, t.directory(t.name), args...)
	if err != nil {
		return err
	}
	t.connection = &connection{yuba: y}
	if t.client, err = kubetest.Client(y.kubeconfig()); err != nil {
		return err
	}
	t.raw, err = newRaw(y.kubeconfig())
	return err
}

// prepare creates the source of the stacks and the objects that they read, and waits for the fetch.
func (t *fleetTrial) prepare(ctx context.Context) error {
	source := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fleetSource}}
	source.Spec = sourcev1.GitRepositorySpec{URL: t.live.URL(), Interval: metav1.Duration{Duration: quietInterval}, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}}
	common := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fleetCommon}, Data: map[string]string{"BENCH_REGION": "here"}}
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, source, common}
	if t.registry != nil {
		objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: configSecret}, Data: map[string][]byte{"bench.tfrc": t.registry.config()}})
	}
	for _, o := range objects {
		if err := t.client.Create(ctx, o); err != nil {
			return err
		}
	}
	err := each(stackNames(t.size), func(name string) error {
		return t.client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"setting": "first"}})
	})
	if err != nil {
		return err
	}
	return t.until(ctx, "the repository is fetched", func() (bool, error) {
		err := t.client.Get(ctx, client.ObjectKeyFromObject(source), source)
		return apimeta.IsStatusConditionTrue(source.Status.Conditions, meta.ReadyCondition), err
	})
}

// until polls for conditions that are not timed.
func (t *fleetTrial) until(ctx context.Context, what string, is func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, t.patience())
	defer cancel()
	for {
		ok, err := is()
		if err != nil || ok {
			return err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("wait until %s: %w", what, err)
		}
	}
}

// patience is the timeout for operations of all stacks. A first apply takes tofu about half a
// second of one core on the machines where this was written.
func (f *fleet) patience() time.Duration { return patience + time.Duration(f.size)*5*time.Second }

// stack is one stack of the fleet. It reads its own ConfigMap and one that all stacks read.
func (t *fleetTrial) stack(i int) *infrav1.Terraform {
	stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: stackName(i)}}
	common := corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: fleetCommon}}}
	stack.Spec = infrav1.TerraformSpec{ApprovePlan: infrav1.ApprovePlanAuto, Interval: metav1.Duration{Duration: quietInterval},
		SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: fleetSource}, Path: "./" + stackPath(i),
		VarsFrom: []infrav1.VarsReference{{Kind: "ConfigMap", Name: stack.Name}}, Env: t.env, EnvFrom: []corev1.EnvFromSource{common}}
	if t.registry != nil {
		stack.Spec.CliConfigSecretRef = &corev1.SecretReference{Name: configSecret}
	}
	return stack
}

// deploy creates all stacks and waits until the last is ready.
func (t *fleetTrial) deploy(ctx context.Context) error {
	o, err := t.observe(t.yuba.spent, func() error {
		at := t.yuba.log.mark()
		err := eachOf(t.size, func(i int) error { return t.client.Create(ctx, t.stack(i)) })
		if err != nil {
			return err
		}
		return t.ready(ctx, at)
	})
	if err != nil {
		return err
	}
	t.apply.yuba, t.deployed = append(t.apply.yuba, o), time.Now()
	t.say("%d stacks are ready after %s (%s of CPU)", t.size, o.took.Round(time.Millisecond), o.cpu)
	return nil
}

// ready waits until all stacks are ready, and verifies that they were applied. The log shows the
// last decisions a moment before the objects do.
func (t *fleetTrial) ready(ctx context.Context, at int) error {
	ctx, cancel := context.WithTimeout(ctx, t.patience())
	defer cancel()
	if _, err := t.yuba.log.settled(ctx, at, t.size); err != nil {
		return errors.Join(err, t.complaint())
	}
	var stacks infrav1.TerraformList
	if err := t.client.List(ctx, &stacks, client.InNamespace(namespace)); err != nil {
		return err
	}
	for i := range stacks.Items {
		s := &stacks.Items[i]
		for tries := 0; !atRest(s) || s.Status.LastAppliedRevision == ""; tries++ {
			if tries == 100 {
				return fmt.Errorf("the stack %s was not applied; its conditions: %v", s.Name, s.Status.Conditions)
			}
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return err
			}
			if err := t.client.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
				return err
			}
		}
	}
	return nil
}

// complaint describes the first stack that is not ready.
func (t *fleetTrial) complaint() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var stacks infrav1.TerraformList
	if err := t.client.List(ctx, &stacks, client.InNamespace(namespace)); err != nil {
		return err
	}
	for i := range stacks.Items {
		if s := &stacks.Items[i]; !atRest(s) {
			return fmt.Errorf("the stack %s is not ready; its conditions: %v", s.Name, s.Status.Conditions)
		}
	}
	return nil
}

// look measures drift checks. The interval makes all stacks due faster than Yuba can check them, so
// there is always one to check. The first round is not measured, because the change of the interval
// causes it. The result is the time for as many checks as there are stacks, and their writes to the
// API.
func (t *fleetTrial) look(ctx context.Context) error {
	// Plain tofu takes about this long on two cores of the machines where this was written.
	takes := time.Duration(t.size) * 150 * time.Millisecond
	if !t.content.provider {
		takes = time.Duration(t.size) * 40 * time.Millisecond
	}
	if n := len(t.refresh.byHand); n > 0 {
		takes = t.refresh.byHand[n-1].took
	}
	t.interval = max(2*time.Second, (takes / 2).Round(time.Second))
	left := max(time.Until(t.deployed.Add(t.interval)), time.Second)
	t.say("all drift checks are due in %s, and then every %s", left.Round(time.Second), t.interval)
	if err := pause(ctx, left); err != nil {
		return err
	}
	at := t.yuba.log.mark()
	if err := t.setInterval(ctx, t.interval); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, t.patience())
	defer cancel()
	if err := t.yuba.log.lookedAtAll(waiting, at, t.size); err != nil {
		return err
	}
	return t.lookAgain(ctx)
}

// lookAgain is the measured round.
func (t *fleetTrial) lookAgain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.patience())
	defer cancel()
	if err := pause(ctx, time.Second); err != nil { // for late writes of earlier checks
		return err
	}
	began := time.Now()
	before, err := readWrites(ctx, t.raw)
	if err != nil {
		return err
	}
	var different int
	o, err := t.observe(t.yuba.spent, func() (err error) {
		different, err = t.yuba.log.looks(ctx, t.yuba.log.mark(), t.size)
		return err
	})
	if err != nil {
		return err
	}
	after, err := readWrites(ctx, t.raw)
	if err != nil {
		return err
	}
	if different < t.size*9/10 {
		return fmt.Errorf("%d drift checks reached only %d of the stacks: the stacks did not take turns", t.size, different)
	}
	t.refresh.yuba = append(t.refresh.yuba, o)
	t.written = append(t.written, after.since(before).withoutRenewals(time.Since(began)))
	t.say("%d drift checks of %d stacks took %s (%s of CPU)", t.size, different, o.took.Round(time.Millisecond), o.cpu)
	return nil
}

func (t *fleetTrial) setInterval(ctx context.Context, interval time.Duration) error {
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"driftDetectionInterval":%q}}`, interval))
	return eachOf(t.size, func(i int) error { return t.client.Patch(ctx, newStack(stackName(i), 0), patch) })
}

// row is the name of one of the fleet's results. A trial's own name contains its number.
func (f *fleet) row(what string) string { return f.name + "-" + what }

// keepQuiet stops drift checks, so that nothing disturbs the next measurement.
func (t *fleetTrial) keepQuiet(ctx context.Context) error {
	if t.interval == 0 {
		return nil
	}
	at := t.yuba.log.mark()
	if err := t.setInterval(ctx, quietInterval); err != nil {
		return err
	}
	if _, err := t.settle(ctx, at, 0); err != nil {
		return err
	}
	return pause(ctx, time.Second) // for late writes
}

// settle waits until all stacks have had a decision after a position in the log, and have been idle
// for a while, and returns the stacks that ran.
func (t *fleetTrial) settle(ctx context.Context, at int, quiet time.Duration) (settled, error) {
	ctx, cancel := context.WithTimeout(ctx, t.patience())
	defer cancel()
	if quiet == 0 {
		return t.yuba.log.settled(ctx, at, t.size)
	}
	return t.yuba.log.quietened(ctx, at, t.size, quiet)
}

// noteMemory records the peak memory of server and runner, and their memory after they were idle
// for a while.
func (t *fleetTrial) noteMemory(ctx context.Context) error {
	peak, err := peakOf(t.yuba.cmd.Process.Pid, t.yuba.runner)
	if err != nil {
		return err
	}
	if err := pause(ctx, t.bench.settle); err != nil {
		return err
	}
	server, err := memoryOf(t.yuba.cmd.Process.Pid)
	if err != nil {
		return err
	}
	runner, err := memoryOf(t.yuba.runner)
	both, m := server.plus(runner), &t.memory
	m.busy, m.idle = append(m.busy, float64(peak)), append(m.idle, float64(both.proportional))
	m.runner, m.files = append(m.runner, float64(runner.proportional)), append(m.files, float64(both.files))
	return err
}

// eachOf calls do for every number below n, eight at a time.
func eachOf(n int, do func(int) error) error {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	return each(numbers, do)
}

// each calls do for every element, eight at a time.
func each[T any](all []T, do func(T) error) error {
	const clients = 8
	parts := slices.Collect(slices.Chunk(all, max(1, (len(all)+clients-1)/clients)))
	failed := make(chan error, len(parts))
	for _, part := range parts {
		go func() {
			var err error
			for _, one := range part {
				err = errors.Join(err, do(one))
			}
			failed <- err
		}()
	}
	var err error
	for range parts {
		err = errors.Join(err, <-failed)
	}
	return err
}
