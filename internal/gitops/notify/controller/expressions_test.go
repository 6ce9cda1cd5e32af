// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listOf is the body of a hook with a list of numbers.
func listOf(numbers int) string {
	return `{"list": [` + strings.TrimSuffix(strings.Repeat("1,", numbers), ",") + `]}`
}

// The time of expressions is limited for all objects together.
func TestAHookEndsSoonWhateverItsExpressionsAre(t *testing.T) {
	w, namespace := start(t), apitest.Namespace(t)
	w.create(t, secretIn(namespace, "token", map[string]string{"token": "t0ken"}))
	for i := range 30 {
		repo := repository(namespace, fmt.Sprint("app-", i))
		repo.Labels = map[string]string{"app": "web"}
		w.create(t, repo)
	}
	receiver := receiverIn(namespace, "generic", source("GitRepository", "*",
		func(s *notificationv1.CrossNamespaceObjectReference) { s.MatchLabels = map[string]string{"app": "web"} }))
	receiver.Spec.ResourceFilter = "req.list.all(a, req.list.all(b, true))"
	w.create(t, receiver)
	w.ready(t, receiver, metav1.ConditionTrue, meta.SucceededReason)
	eventually(t, "the refusal", func() bool {
		began := time.Now()
		got := w.hook(t, receiver.Status.WebhookPath, listOf(1500), "Content-Type", "application/json")
		if took := time.Since(began); took > 6*time.Second {
			t.Fatalf("the hook took %s, and its answer is %d", took, got)
		}
		// The cache may not have all objects yet.
		return got == http.StatusInternalServerError
	})
	eventually(t, "the reason's being told", func() bool {
		return slices.ContainsFunc(w.events(t, "Receiver", receiver), func(e string) bool {
			return strings.HasPrefix(e, "Warning WebhookFailed finding the hook's objects took longer than 2s")
		})
	})
}

func TestADeletedReceiversExpressionEnds(t *testing.T) {
	w, namespace := start(t), apitest.Namespace(t)
	repo := repository(namespace, "app")
	w.create(t, secretIn(namespace, "token", map[string]string{"token": "t0ken"}), repo)
	// On a busy machine, an evaluation may end before the deletion is noticed.
	eventually(t, "the hook's end with its receiver", func() bool {
		receiver := receiverIn(namespace, "generic", source("GitRepository", "app"))
		receiver.Spec.ResourceFilter = "req.list.all(a, req.list.all(b, req.list.all(c, true)))"
		w.create(t, receiver)
		w.ready(t, receiver, metav1.ConditionTrue, meta.SucceededReason)
		answer := make(chan int, 1)
		go func() {
			answer <- w.hook(t, receiver.Status.WebhookPath, listOf(3000), "Content-Type", "application/json")
		}()
		select {
		case got := <-answer:
			t.Fatalf("the expression is too simple for this test: the answer is %d", got)
		case <-time.After(100 * time.Millisecond):
		}
		if err := w.client.Delete(t.Context(), receiver); err != nil {
			t.Fatal(err)
		}
		return <-answer == http.StatusNotFound
	})
	if w.requestedAt(t, repo) != "" {
		t.Error("a deleted receiver requested a reconciliation")
	}
}
