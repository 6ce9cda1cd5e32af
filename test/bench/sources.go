// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
)

const (
	// repositories is the number of GitRepositories of one repository, each with a stack.
	repositories = 100
	// lookInterval is their interval, lookIntervals how many intervals are measured.
	lookInterval  = 10 * time.Second
	lookIntervals = 3
	// commits is the number of pushed commits, each followed by a call of the Receiver.
	commits = 30
)

// sourced measures many sources of one repository.
type sourced struct {
	*bench
	client client.WithWatch
	git    *gittest.Server
	live   *gittest.Repository
	hook   string
}

// measureSources counts the requests of 100 sources to their git server, and measures the time from
// a push to the first run.
func (b *bench) measureSources(ctx context.Context) (err error) {
	outside := &outside{}
	defer func() { err = errors.Join(err, outside.end()) }()
	address, err := proctest.FreeAddress()
	if err != nil {
		return err
	}
	// The last flag takes precedence.
	y, err := b.start(ctx, b.directory("sources"), "--http-address", address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.stop()) }()
	s := &sourced{bench: b, git: gittest.New(outside)}
	s.live = s.git.Repository(outside, "live")
	s.live.Commit(outside, "first", s.files(0))
	if outside.failed != nil {
		return outside.failed
	}
	if err := s.prepare(ctx, y, address); err != nil {
		return err
	}
	if err := s.measureLooks(ctx); err != nil {
		return err
	}
	return s.measurePushes(ctx, outside)
}

func (s *sourced) prepare(ctx context.Context, y *yuba, address string) error {
	var err error
	if s.client, err = kubetest.Client(y.kubeconfig()); err != nil {
		return err
	}
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "receiver"}, StringData: map[string]string{"token": "bench"}}}
	receiver := &notificationv1.Receiver{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pushed"}}
	receiver.Spec = notificationv1.ReceiverSpec{Type: notificationv1.GenericReceiver, SecretRef: &meta.LocalObjectReference{Name: "receiver"},
		Resources: []notificationv1.ReceiverResource{{CrossNamespaceObjectReference: notificationv1.CrossNamespaceObjectReference{Kind: sourcev1.GitRepositoryKind, Name: "live-0"}}}}
	objects = append(objects, receiver)
	for i := range repositories {
		name := fmt.Sprintf("live-%d", i)
		source := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		source.Spec = sourcev1.GitRepositorySpec{URL: s.live.URL(), Interval: metav1.Duration{Duration: lookInterval}, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}}
		stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		stack.Spec = infrav1.TerraformSpec{ApprovePlan: infrav1.ApprovePlanAuto, Interval: metav1.Duration{Duration: time.Hour},
			SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: name}, Path: "./" + name}
		objects = append(objects, source, stack)
	}
	for _, obj := range objects {
		if err := s.client.Create(ctx, obj); err != nil {
			return err
		}
	}
	if err := s.untilAllReady(ctx); err != nil {
		return err
	}
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(receiver), receiver); err != nil {
		return err
	}
	s.hook = "http://" + address + receiver.Status.WebhookPath
	return nil
}

// files are the programs of all stacks; a commit changes the first one's.
func (s *sourced) files(commit int) gittest.Files {
	files := gittest.Files{}
	for i := range repositories {
		text := "output \"version\" { value = \"one\" }\n"
		if i == 0 {
			text = fmt.Sprintf("output \"version\" { value = \"%d\" }\n", commit)
		}
		files[fmt.Sprintf("live-%d/main.tf", i)] = text
	}
	return files
}

func (s *sourced) untilAllReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		var stacks infrav1.TerraformList
		if err := s.client.List(ctx, &stacks, client.InNamespace(namespace)); err != nil {
			return err
		}
		ready := 0
		for _, o := range stacks.Items {
			if apimeta.IsStatusConditionTrue(o.Status.Conditions, meta.ReadyCondition) && o.Status.CurrentRun == nil {
				ready++
			}
		}
		if ready == repositories {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("wait for %d stacks, %d of which are ready: %w", repositories, ready, err)
		}
	}
}

// measureLooks counts the initial clones, and the checks while nothing is pushed.
func (s *sourced) measureLooks(ctx context.Context) error {
	clones := s.git.Counts("live").Clones
	before := s.git.Counts("live")
	if err := pause(ctx, lookIntervals*lookInterval); err != nil {
		return err
	}
	after := s.git.Counts("live")
	s.results = append(s.results,
		result{Name: "sources-clones", Unit: "", Trials: 1, Value: float64(clones), What: fmt.Sprintf("clones for %d sources of one repository", repositories)},
		result{Name: "sources-looks", Unit: "", Trials: lookIntervals, Value: float64(after.Lookups-before.Lookups) / lookIntervals,
			What: fmt.Sprintf("checks by all %d sources per interval", repositories)})
	return nil
}

// measurePushes measures the time from the end of the fetch until the first run. All stacks but one
// are suspended, so that the result does not include tofu. Their sources still follow each commit.
func (s *sourced) measurePushes(ctx context.Context, t *outside) error {
	for i := 1; i < repositories; i++ {
		stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("live-%d", i)}}
		if err := s.client.Patch(ctx, stack, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":true}}`))); err != nil {
			return err
		}
	}
	before := s.git.Counts("live")
	var afterFetch, afterCall []float64
	for commit := range commits {
		s.live.Commit(t, "next", s.files(commit+1))
		if t.failed != nil {
			return t.failed
		}
		called, begun, err := s.push(ctx)
		if err != nil {
			return fmt.Errorf("commit %d: %w", commit, err)
		}
		afterCall = append(afterCall, begun.Sub(called).Seconds())
		afterFetch = append(afterFetch, begun.Sub(s.git.Fetched("live")).Seconds())
	}
	after := s.git.Counts("live")
	s.results = append(s.results,
		result{Name: "sources-fetches", Unit: "", Trials: commits, Value: float64(after.Fetches-before.Fetches) / commits,
			What: fmt.Sprintf("fetches for a commit that %d sources follow", repositories)},
		result{Name: "sources-run", Unit: "s", Trials: commits, Value: quantile(afterFetch, 0.99),
			What: fmt.Sprintf("from the end of the fetch to the first run, p99 (median %.2f s; from the call of the Receiver %.2f s, p99 %.2f s)",
				quantile(afterFetch, 0.5), quantile(afterCall, 0.5), quantile(afterCall, 0.99))})
	return nil
}

// push calls the Receiver and watches the first stack until a run has begun and ended.
func (s *sourced) push(ctx context.Context) (called, begun time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	key := client.ObjectKey{Namespace: namespace, Name: "live-0"}
	var now infrav1.Terraform
	if err := s.client.Get(ctx, key, &now); err != nil {
		return called, begun, err
	}
	last := now.Status.LastRun.ID
	w, err := s.client.Watch(ctx, &infrav1.TerraformList{}, client.InNamespace(namespace), client.MatchingFields{"metadata.name": key.Name})
	if err != nil {
		return called, begun, err
	}
	defer w.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.hook, strings.NewReader("{}"))
	if err != nil {
		return called, begun, err
	}
	called = time.Now()
	answer, err := (&http.Client{Timeout: patience}).Do(request)
	if err != nil {
		return called, begun, err
	}
	answer.Body.Close() //nolint:errcheck // it is empty
	if answer.StatusCode != http.StatusOK {
		return called, begun, fmt.Errorf("call the receiver: %s", answer.Status)
	}
	for event := range w.ResultChan() {
		seen, ok := event.Object.(*infrav1.Terraform)
		if !ok {
			continue
		}
		over := seen.Status.LastRun != nil && seen.Status.LastRun.ID != last
		if begun.IsZero() && (over || seen.Status.CurrentRun != nil) {
			begun = time.Now()
		}
		if over && seen.Status.CurrentRun == nil {
			return called, begun, nil
		}
	}
	return called, begun, errors.New("the commit started no run")
}

// outside implements the part of testing.T that the git server needs.
type outside struct {
	ends   []func()
	failed error
}

// Helper does nothing.
func (*outside) Helper() {}

// Cleanup records a function for end.
func (o *outside) Cleanup(end func()) { o.ends = append(o.ends, end) }

// Fatalf records the first failure.
func (o *outside) Fatalf(format string, args ...any) {
	if o.failed == nil {
		o.failed = fmt.Errorf(format, args...)
	}
}

// end calls the recorded functions, the last one first.
func (o *outside) end() error {
	for i := len(o.ends) - 1; i >= 0; i-- {
		o.ends[i]()
	}
	return o.failed
}
