// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

const (
	// provenPasses is how often an unchanged fleet is reconciled, restarts how often its server
	// restarts.
	provenPasses, restarts = 3, 3
	// changedInputs is the number of stacks whose input changes, one after the other.
	changedInputs = 50
	// sourceQuiet is how long to wait for decisions after a fetch: a commit's first effect on
	// stacks is only the request to fetch it.
	sourceQuiet = 3 * time.Second
)

// metadataPatch changes an annotation: watches see an event, but nothing relevant has changed.
func metadataPatch(name, value string) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, name, value))
}

// measureProven makes Yuba reconcile all stacks without changes: first the ConfigMap that all of
// them read gets another annotation, then a commit changes no stack's program.
func (t *fleetTrial) measureProven(ctx context.Context) error {
	common := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fleetCommon}}
	touched, err := t.passes(ctx, "PATCH configmaps", 0, func(pass int) error {
		return t.client.Patch(ctx, common, metadataPatch("bench.yuba.dev/pass", fmt.Sprint(pass)))
	})
	if err != nil {
		return err
	}
	committed, err := t.passes(ctx, "PATCH gitrepositories", sourceQuiet, func(pass int) error {
		return t.pushed(ctx, gittest.Files{"README.md": fmt.Sprintf("Edition %d.\n", pass)})
	})
	if err != nil {
		return err
	}
	touched.add(t.bench, t.row("proven"), fmt.Sprintf("a reconciliation of %d stacks without changes", t.size))
	committed.add(t.bench, t.row("untouched"), fmt.Sprintf("a commit that touches none of %d stacks", t.size))
	return nil
}

// push pushes a commit and requests a fetch.
func (t *fleetTrial) push(ctx context.Context, files gittest.Files) error {
	commit := t.live.Commit(t.outside, "next", files)
	if t.outside.failed != nil {
		return t.outside.failed
	}
	source := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fleetSource}}
	return t.client.Patch(ctx, source, metadataPatch(meta.ReconcileRequestAnnotation, commit))
}

// pushed pushes a commit and waits until it is fetched.
func (t *fleetTrial) pushed(ctx context.Context, files gittest.Files) error {
	if err := t.push(ctx, files); err != nil {
		return err
	}
	head := t.live.Head(t.outside)
	return t.until(ctx, "the commit is fetched", func() (bool, error) {
		var source sourcev1.GitRepository
		err := t.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: fleetSource}, &source)
		return source.Status.Artifact != nil && strings.HasSuffix(source.Status.Artifact.Revision, head), err
	})
}

// passesSeen are rounds of reconciliations of a fleet: their durations, started processes and
// writes.
type passesSeen struct {
	seconds        []float64
	runs, started  int
	written        int
	writtenInWords string
}

func (s *passesSeen) add(b *bench, name, what string) {
	n := len(s.seconds)
	b.results = append(b.results,
		result{Name: name, Unit: "s", Trials: n, Value: quantile(s.seconds, 0.5), What: what + ": until the last decision"},
		result{Name: name + "-processes", Unit: "processes", Trials: n, Value: float64(s.started) / float64(n),
			What: fmt.Sprintf("… tofu processes (%d runs in %d rounds)", s.runs, n)},
		result{Name: name + "-writes", Unit: "writes", Trials: n, Value: float64(s.written) / float64(n),
			What: fmt.Sprintf("… writes to the API (in the last round: %s)", s.writtenInWords)})
}

// passes makes a change and waits until all stacks are idle, several times. ours is the write of
// the change itself; quiet is how long no decision may be made after that.
func (t *fleetTrial) passes(ctx context.Context, ours string, quiet time.Duration, change func(int) error) (*passesSeen, error) {
	s := &passesSeen{}
	for pass := range provenPasses {
		asked := time.Now()
		before, err := readWrites(ctx, t.raw)
		if err != nil {
			return nil, err
		}
		var seen settled
		var began time.Time
		o, err := t.observe(t.yuba.spent, func() error {
			at := t.yuba.log.mark()
			began = time.Now()
			if err := change(pass); err != nil {
				return err
			}
			seen, err = t.settle(ctx, at, quiet)
			return err
		})
		if err != nil {
			return nil, err
		}
		// The last decisions are logged shortly before their writes.
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
		after, err := readWrites(ctx, t.raw)
		if err != nil {
			return nil, err
		}
		grown := after.since(before).without(ours, 1).withoutRenewals(time.Since(asked))
		s.seconds = append(s.seconds, seen.last.Sub(began).Seconds())
		s.runs, s.started = s.runs+len(seen.ran), s.started+o.processes.tofu
		t.say("after %q all stacks were decided on, and %d of them ran", ours, len(seen.ran))
		s.written, s.writtenInWords = s.written+grown.total(), grown.String()
		if o.took > time.Minute {
			break // another round would take as long
		}
	}
	return s, nil
}

// measureInputs changes the input of some stacks, one after the other.
func (t *fleetTrial) measureInputs(ctx context.Context) error {
	n := min(changedInputs, t.size)
	s := &stacks{bench: t.bench, yuba: t.yuba, client: t.client}
	var delays []time.Duration
	at := t.yuba.log.mark()
	for i := range n {
		name := stackName(i * t.size / n)
		delay, err := t.changeInput(ctx, s, name)
		if err != nil {
			return err
		}
		delays = append(delays, delay)
	}
	ctx, cancel := context.WithTimeout(ctx, t.patience())
	defer cancel()
	seen, err := t.yuba.log.settled(ctx, at, n)
	if err != nil {
		return err
	}
	t.say("changed an input of %d stacks", n)
	t.addLatency(t.row("input"), fmt.Sprintf("a change of a ConfigMap that one of %d stacks reads, until its run, p99", t.size), delays)
	t.results = append(t.results, result{Name: t.row("input-runs"), Unit: "runs", Trials: n, Value: float64(len(seen.ran)) / float64(n),
		What: "… stacks that ran, per change"})
	return nil
}

// changeInput returns the time until a run began. It waits for the end of that run.
func (t *fleetTrial) changeInput(ctx context.Context, s *stacks, name string) (time.Duration, error) {
	var before infrav1.Terraform
	if err := t.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &before); err != nil {
		return 0, err
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"data":{"setting":"after run %s"}}`, before.Status.LastRun.ID))
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	delay, err := s.changeAndAwait(ctx, name, func() error { return t.client.Patch(ctx, settings, patch) }, runAfter(&before))
	if err != nil {
		return 0, err
	}
	return delay, t.until(ctx, name+" is idle again", func() (bool, error) {
		var now infrav1.Terraform
		err := t.client.Get(ctx, client.ObjectKeyFromObject(&before), &now)
		return atRest(&now) && now.Status.LastRun.ID > before.Status.LastRun.ID, err
	})
}

// runAfter reports whether a stack has begun a run after those it had before.
func runAfter(before *infrav1.Terraform) func(*infrav1.Terraform) bool {
	id := before.Status.LastRun.ID
	return func(t *infrav1.Terraform) bool {
		return t.Status.CurrentRun != nil && t.Status.CurrentRun.ID > id || t.Status.LastRun != nil && t.Status.LastRun.ID > id
	}
}

// measureCommits pushes a commit that touches one stack.
func (t *fleetTrial) measureCommits(ctx context.Context) error {
	touched := t.size / 2
	var before infrav1.Terraform
	if err := t.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: stackName(touched)}, &before); err != nil {
		return err
	}
	s := &stacks{bench: t.bench, yuba: t.yuba, client: t.client}
	at, began := t.yuba.log.mark(), time.Now()
	files := gittest.Files{stackPath(touched) + "/main.tf": rootModule(touched, "second")}
	delay, err := s.changeAndAwait(ctx, before.Name, func() error { return t.push(ctx, files) }, runAfter(&before))
	if err != nil {
		return err
	}
	seen, err := t.settle(ctx, at, sourceQuiet)
	if err != nil {
		return err
	}
	if !seen.ran[namespace+"/"+before.Name] {
		return fmt.Errorf("the stack %s did not run, although its program changed", before.Name)
	}
	t.say("pushed a commit, and %d stacks ran", len(seen.ran))
	t.results = append(t.results,
		result{Name: t.row("commit"), Unit: "s", Trials: 1, Value: delay.Seconds(),
			What: fmt.Sprintf("a commit that touches one of %d stacks: from the request to reconcile until its run (all idle after %.1f s)", t.size, seen.last.Sub(began).Seconds())},
		result{Name: t.row("commit-runs"), Unit: "runs", Trials: 1, Value: float64(len(seen.ran)), What: "… stacks that ran"})
	return nil
}

// measureStart restarts the server.
func (t *fleetTrial) measureStart(ctx context.Context) error {
	var ready, decided, cpu []float64
	runs, tofu := 0, 0
	for range restarts {
		if err := t.yuba.stop(); err != nil {
			return err
		}
		before, err := t.executions.counts()
		if err != nil {
			return err
		}
		began := time.Now()
		if err := t.start(ctx); err != nil {
			return err
		}
		seen, err := t.settle(ctx, 0, 0)
		if err != nil {
			return err
		}
		took, err := t.yuba.cpu()
		if err != nil {
			return err
		}
		after, err := t.executions.counts()
		if err != nil {
			return err
		}
		t.say("restarted the server")
		ready, decided, cpu = append(ready, t.yuba.took.Seconds()), append(decided, seen.last.Sub(began).Seconds()), append(cpu, took.Seconds())
		runs, tofu = runs+len(seen.ran), tofu+started(before, after).tofu
	}
	t.results = append(t.results,
		result{Name: t.row("start"), Unit: "s", Trials: restarts, Value: quantile(ready, 0.5),
			What: fmt.Sprintf("exec to ready of a server with %d healthy stacks (all decided on after %.1f s, %.1f s of CPU)", t.size, quantile(decided, 0.5), quantile(cpu, 0.5))},
		result{Name: t.row("start-runs"), Unit: "runs", Trials: restarts, Value: float64(runs),
			What: fmt.Sprintf("… runs in all %d starts (%d tofu processes: server and runner ask it for its version)", restarts, tofu)})
	return nil
}
