// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

const (
	// concerned is the number of consumers that read what changes.
	concerned = 5
	// revisionRounds is how often the producer publishes another value.
	revisionRounds = 5
	// atATime is the number of stacks that are created together.
	atATime = 50
)

const producerProgram = `
variable "shared" { type = string }
variable "special" { type = string }
output "base" { value = { shared = var.shared, special = var.special } }
`

// consumers are stacks that read a contract, and the one that publishes it.
type consumers struct {
	client client.WithWatch
	// yuba is the program, with which to ask for records of runs.
	yuba, kubeconfig string
	number           int
}

// measureContracts measures the time from the end of a producer's apply, as its run records it, until
// a watch shows the run of the first consumer that reads what changed; and how many run.
func (b *bench) measureContracts(ctx context.Context) (err error) {
	y, err := b.start(ctx, b.directory("contracts"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.stop()) }()
	c, err := kubetest.Client(y.kubeconfig())
	if err != nil {
		return err
	}
	s := &consumers{client: c, yuba: b.programs.yuba, kubeconfig: y.kubeconfig(), number: b.consumers}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	var first, last []time.Duration
	var runs []float64
	began, err := y.spent()
	if err != nil {
		return err
	}
	for round := range revisionRounds {
		all, err := s.publish(ctx, fmt.Sprint("round ", round))
		if err != nil {
			return err
		}
		first, last, runs = append(first, all[0]), append(last, all[min(concerned, len(all))-1]), append(runs, float64(len(all)))
	}
	ended, err := y.spent()
	if err != nil {
		return err
	}
	of := fmt.Sprintf("%d consumers of which %d read what changed", s.number, concerned)
	b.add("contracts-first", "a revision with "+of+": from the end of the apply until the first run", "s", first)
	b.add("contracts-last", fmt.Sprintf("… until the run of the last of the %d", concerned), "s", last)
	b.results = append(b.results,
		result{Name: "contracts-runs", What: "… consumers that ran, most", Unit: "runs", Value: slices.Max(runs), Trials: len(runs)},
		result{Name: "contracts-cpu", What: fmt.Sprintf("… CPU of the server per revision, with %d runs", concerned+1), Unit: "ms",
			Value: float64((ended.server - began.server).Microseconds()) / 1000 / revisionRounds, Trials: revisionRounds})
	return nil
}

func consumerName(i int) string { return fmt.Sprintf("consumer-%04d", i) }

// isConcerned spreads the consumers that read what changes over all of them.
func (s *consumers) isConcerned(i int) bool { return i%(s.number/concerned) == s.number/concerned-1 }

func (s *consumers) consumer(i int) *infrav1.Terraform {
	attribute := "shared"
	if s.isConcerned(i) {
		attribute = "special"
	}
	t := newStack(consumerName(i), 0)
	t.Spec.Consumes = []infrav1.Consumption{{Contract: "base", Version: "~> 1.0", From: infrav1.ProducerReference{Name: "producer"}, As: "base"}}
	t.Spec.Inline = map[string]string{"main.tf": fmt.Sprintf("variable \"base\" { type = object({ %s = string }) }\noutput \"it\" { value = var.base.%s }\n", attribute, attribute)}
	return t
}

func (s *consumers) prepare(ctx context.Context) error {
	producer := newStack("producer", 0)
	producer.Spec.Inline = map[string]string{"main.tf": producerProgram}
	producer.Spec.VarsFrom = []infrav1.VarsReference{{Kind: "ConfigMap", Name: "settings"}}
	producer.Spec.Publishes = []infrav1.Publication{{Contract: "base", Version: "1.0.0", Value: "base"}}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}, Data: map[string]string{"shared": "first", "special": "first"}},
		&yubav1.Contract{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "base"}, Spec: yubav1.ContractSpec{Version: "1.0.0", Type: "object({ shared = string, special = string })"}},
		producer,
	} {
		if err := s.client.Create(ctx, o); err != nil {
			return err
		}
	}
	in := &inputs{client: s.client, patience: 5 * patience}
	for i := 0; i < s.number; i += atATime {
		var names []string
		for j := i; j < min(i+atATime, s.number); j++ {
			names = append(names, consumerName(j))
		}
		if _, err := in.follow(ctx, names, func() error {
			for j := range names {
				if err := s.client.Create(ctx, s.consumer(i+j)); err != nil {
					return err
				}
			}
			return nil
		}, atRest); err != nil {
			return err
		}
	}
	return nil
}

// publish has the producer publish another value, and returns when the runs of consumers began, since
// the end of its apply. It waits until all are at rest again.
func (s *consumers) publish(ctx context.Context, value string) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var list infrav1.TerraformList
	if err := s.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	before := map[string]string{}
	for i := range list.Items {
		if run := list.Items[i].Status.LastRun; run != nil {
			before[list.Items[i].Name] = run.ID
		}
	}
	w, err := s.client.Watch(ctx, &infrav1.TerraformList{}, client.InNamespace(namespace))
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	if err := s.change(ctx, value); err != nil {
		return nil, err
	}
	began := map[string]time.Time{}
	rest := map[string]bool{}
	applied := ""
	for len(rest) < concerned+1 {
		event, open := <-w.ResultChan()
		if !open || event.Type == watch.Error {
			return nil, fmt.Errorf("%d consumers ran: %w", len(began), errors.Join(ctx.Err(), fmt.Errorf("watch: %v", event.Object)))
		}
		t, ok := event.Object.(*infrav1.Terraform)
		if !ok {
			continue
		}
		ran := t.Status.CurrentRun != nil && t.Status.CurrentRun.ID > before[t.Name] || t.Status.LastRun != nil && t.Status.LastRun.ID > before[t.Name]
		if _, known := began[t.Name]; ran && !known && t.Name != "producer" {
			began[t.Name] = time.Now()
		}
		if ran && atRest(t) && apimeta.IsStatusConditionTrue(t.Status.Conditions, infrav1.ConditionReady) && t.Status.LastRun.ID > before[t.Name] {
			rest[t.Name] = true
			if t.Name == "producer" {
				applied = t.Status.LastRun.ID
			}
		}
	}
	ended, err := s.finished(ctx, applied)
	if err != nil {
		return nil, err
	}
	var all []time.Duration
	for _, at := range began {
		all = append(all, at.Sub(ended))
	}
	slices.Sort(all)
	return all, nil
}

func (s *consumers) change(ctx context.Context, value string) error {
	var cm corev1.ConfigMap
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, &cm); err != nil {
		return err
	}
	cm.Data["special"] = value
	return s.client.Update(ctx, &cm)
}

// finished is when a run of the producer ended, as its record says: the status only has seconds.
func (s *consumers) finished(ctx context.Context, run string) (time.Time, error) {
	out, err := exec.CommandContext(ctx, s.yuba, "runs", "producer", "-n", namespace, "--kubeconfig", s.kubeconfig, "-o", "json").Output()
	if err != nil {
		return time.Time{}, fmt.Errorf("list the runs of the producer: %w", err)
	}
	var all struct {
		Items []struct {
			Spec   struct{ ID string }
			Result struct{ Finished time.Time }
		}
	}
	if err := json.Unmarshal(out, &all); err != nil {
		return time.Time{}, fmt.Errorf("list the runs of the producer: %w", err)
	}
	for _, r := range all.Items {
		if r.Spec.ID == run {
			return r.Result.Finished, nil
		}
	}
	return time.Time{}, fmt.Errorf("run %s of the producer is not listed", run)
}
