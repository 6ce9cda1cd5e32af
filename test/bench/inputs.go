// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

// readers is the number of stacks that read the changed objects.
const readers = 100

// rounds is how often the shared input changes.
const rounds = 3

const readersProgram = `
variable "own" { type = string }
variable "shared" { type = string }
output "both" { value = "${var.own} ${var.shared}" }
`

// measureInputs measures the time from the API's response to a change of a ConfigMap until a watch
// shows the run that it caused: for one ConfigMap that all stacks read, and for one of each stack,
// one after the other. A run that has begun may still wait in the queue.
func (b *bench) measureInputs(ctx context.Context) (err error) {
	y, err := b.start(ctx, b.directory("inputs"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.stop()) }()
	c, err := kubetest.Client(y.kubeconfig())
	if err != nil {
		return err
	}
	in := &inputs{client: c}
	if err := in.prepare(ctx); err != nil {
		return err
	}
	var shared, own []time.Duration
	for round := range rounds {
		delays, err := in.change(ctx, "shared", fmt.Sprint("round ", round), in.all())
		if err != nil {
			return err
		}
		shared = append(shared, delays...)
	}
	for i := range readers {
		delays, err := in.change(ctx, settingsName(i), "changed", []string{readerName(i)})
		if err != nil {
			return err
		}
		own = append(own, delays...)
	}
	b.addLatency("input-shared", fmt.Sprintf("a change of a ConfigMap that %d stacks read, until the run of each, p99", readers), shared)
	b.addLatency("input-own", fmt.Sprintf("a change of a ConfigMap that one of %d stacks reads, until its run, p99", readers), own)
	return nil
}

// addLatency adds the 99th percentile: a delay has to be short nearly always.
func (b *bench) addLatency(name, what string, times []time.Duration) {
	ms := milliseconds(times)
	b.results = append(b.results, result{Name: name, What: what, Unit: "s", Value: quantile(ms, 0.99) / 1000, Yuba: spreadOf(ms), Trials: len(ms)})
}

// inputs are stacks and the objects that they read.
type inputs struct {
	client client.WithWatch
	// patience is that of all stacks together; that of one operation if zero.
	patience time.Duration
}

func readerName(i int) string   { return fmt.Sprintf("reader-%03d", i) }
func settingsName(i int) string { return fmt.Sprintf("settings-%03d", i) }

func (in *inputs) all() []string {
	var names []string
	for i := range readers {
		names = append(names, readerName(i))
	}
	return names
}

func (in *inputs) prepare(ctx context.Context) error {
	settings := func(name, key string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{key: "first"}}
	}
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, settings("shared", "shared")}
	for i := range readers {
		reader := newStack(readerName(i), 0)
		reader.Spec.Inline = map[string]string{"main.tf": readersProgram}
		reader.Spec.VarsFrom = []infrav1.VarsReference{{Kind: "ConfigMap", Name: settingsName(i)}, {Kind: "ConfigMap", Name: "shared"}}
		objects = append(objects, settings(settingsName(i), "own"), reader)
	}
	for _, o := range objects {
		if err := in.client.Create(ctx, o); err != nil {
			return err
		}
	}
	_, err := in.follow(ctx, in.all(), func() error { return nil }, atRest)
	return err
}

// change changes a ConfigMap and returns, for each stack, the time until a run began. It waits
// until all are idle again.
func (in *inputs) change(ctx context.Context, settings, value string, stacks []string) ([]time.Duration, error) {
	var list infrav1.TerraformList
	if err := in.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	before := map[string]string{}
	for i := range list.Items {
		before[list.Items[i].Name] = list.Items[i].Status.LastRun.ID
	}
	delays, err := in.follow(ctx, stacks, func() error { return in.write(ctx, settings, value) }, func(t *infrav1.Terraform) bool {
		s := &t.Status
		return s.CurrentRun != nil && s.CurrentRun.ID > before[t.Name] || s.LastRun != nil && s.LastRun.ID > before[t.Name]
	})
	if err != nil {
		return nil, err
	}
	_, err = in.follow(ctx, stacks, func() error { return nil }, func(t *infrav1.Terraform) bool {
		return atRest(t) && t.Status.LastRun.ID > before[t.Name]
	})
	return delays, err
}

func atRest(t *infrav1.Terraform) bool {
	return t.Status.CurrentRun == nil && apimeta.IsStatusConditionTrue(t.Status.Conditions, infrav1.ConditionReady)
}

func (in *inputs) write(ctx context.Context, settings, value string) error {
	var cm corev1.ConfigMap
	if err := in.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: settings}, &cm); err != nil {
		return err
	}
	for key := range cm.Data {
		cm.Data[key] = value
	}
	return in.client.Update(ctx, &cm)
}

// follow calls do and returns, for each stack, the time until is was true.
func (in *inputs) follow(ctx context.Context, stacks []string, do func() error, is func(*infrav1.Terraform) bool) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(in.patience, patience))
	defer cancel()
	w, err := in.client.Watch(ctx, &infrav1.TerraformList{}, client.InNamespace(namespace))
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	missing := map[string]bool{}
	for _, name := range stacks {
		missing[name] = true
	}
	if err := do(); err != nil {
		return nil, err
	}
	began := time.Now()
	var delays []time.Duration
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			return nil, fmt.Errorf("watch the stacks: %v", event.Object)
		}
		t, ok := event.Object.(*infrav1.Terraform)
		if !ok || !missing[t.Name] || !is(t) {
			continue
		}
		delays = append(delays, time.Since(began))
		if delete(missing, t.Name); len(missing) == 0 {
			return delays, nil
		}
	}
	return nil, fmt.Errorf("%d stacks did not react to the change: %w", len(missing), ctx.Err())
}
