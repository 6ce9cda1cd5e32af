// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
)

func TestSourcesAreLeftToALivingFlux(t *testing.T) {
	now := time.Date(2020, 1, 1, 12, 0, 0, 0, time.UTC)
	c := apitest.Client(t)
	for sentence, test := range map[string]struct {
		name, holder string
		age          time.Duration
		left         bool
	}{
		"source-controller":         {"source-controller-leader-election", "pod-1", 10 * time.Second, true},
		"a shard of it":             {"source-controller-leader-election-0a1b2c", "pod-1", 10 * time.Second, true},
		"kustomize-controller":      {"kustomize-controller-leader-election", "pod-1", 10 * time.Second, true},
		"notification-controller":   {"notification-controller-leader-election", "pod-1", 10 * time.Second, true},
		"dead":                      {"source-controller-leader-election", "pod-1", time.Minute, false},
		"stopped in an orderly way": {"source-controller-leader-election", "", time.Second, false},
		"helm-controller alone":     {"helm-controller-leader-election", "pod-1", time.Second, true},
		"image automation alone":    {"image-automation-controller-leader-election", "pod-1", time.Second, true},
		"something else":            {"flagger-leader-election", "pod-1", time.Second, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			l := lease(apitest.Namespace(t), test.name, test.holder, now.Add(-test.age), ptr.To(int32(35)))
			if err := c.Create(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Delete(context.Background(), l) }) //nolint:errcheck // goes with the API
			why, err := runningFlux(t.Context(), c, now)
			if err != nil || (why != "") != test.left || test.left && !strings.Contains(why, "pod-1") {
				t.Errorf("left to Flux because %q, %v", why, err)
			}
		})
	}
}

// With --gitops beside Flux, stacks are reconciled and sources are not touched.
func TestBesideFluxTheControllersLeaveItsObjectsAlone(t *testing.T) {
	c, namespace := apitest.Client(t), apitest.Namespace(t)
	l := lease(namespace, "source-controller-leader-election", "pod-1", time.Now(), ptr.To(int32(600)))
	if err := c.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Delete(context.Background(), l) }) //nolint:errcheck // goes with the API
	repository := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "infra"},
		Spec: sourcev1.GitRepositorySpec{URL: "https://git.invalid/infra", Interval: metav1.Duration{Duration: time.Second}}}
	if err := c.Create(t.Context(), repository); err != nil {
		t.Fatal(err)
	}
	var log proctest.Log
	running(t, func(o *ControllerOptions) {
		o.GitOps, o.Log = true, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	})
	// The controllers work, because they look at a stack.
	stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one"}, Spec: infrav1.TerraformSpec{
		Interval: metav1.Duration{Duration: time.Hour}, SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "infra"}}}
	if err := c.Create(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	awaits(t, "the controllers look at a stack", func() bool {
		return c.Get(t.Context(), client.ObjectKeyFromObject(stack), stack) == nil && len(stack.Status.Conditions) > 0
	})
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(repository), repository); err != nil {
		t.Fatal(err)
	}
	if len(repository.Finalizers) > 0 || len(repository.Status.Conditions) > 0 {
		t.Errorf("Yuba works on a source of Flux: %v, %+v", repository.Finalizers, repository.Status)
	}
	if text := log.Text(); !strings.Contains(text, "Flux's source-controller is running") || !strings.Contains(text, "sources.enabled=false") {
		t.Errorf("the log does not say why: %s", text)
	}
}
