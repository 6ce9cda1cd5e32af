// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/policy/judge"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestANamespaceWithRulesOfItsOwnDelaysOnlyItself(t *testing.T) {
	c, slow, other := apitest.Client(t), apitest.Namespace(t), apitest.Namespace(t)
	for _, namespace := range []string{slow, other} {
		obj := &yubav1.Policy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "own"}}
		obj.Spec = yubav1.PolicySpec{OnViolation: yubav1.PolicyDeny, Enforcement: yubav1.PolicyEnforce, Stages: []yubav1.PolicyStage{yubav1.PolicyPrePlan},
			Rules: []yubav1.PolicyRule{{CEL: "facts.stage == 'Plan'", Message: "no"}}}
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.IgnoreNotFound(c.Delete(t.Context(), obj)) })
	}
	p := &policies{judge: &judge.Judge{Cache: c}, now: time.Now}
	asks := func(namespace string) (string, error) {
		subject := judge.Subject{Namespace: namespace, Name: "net"}
		binding, err := p.judge.Bind(t.Context(), subject)
		if err != nil {
			t.Fatal(err)
		}
		refused, err := p.refusal(t.Context(), binding, subject, &facts.Document{Stage: facts.StagePrePlan}, nil)
		return refused.Message, err
	}
	done, _ := p.judge.Turns.Take(slow, true, time.Now())
	if refused, err := asks(slow); !errors.Is(err, stacks.ErrPoliciesBusy) {
		t.Errorf("a second judgement of the namespace: %q, %v", refused, err)
	}
	if refused, err := asks(other); err != nil || refused == "" {
		t.Errorf("another namespace: %q, %v", refused, err)
	}
	done()
	if refused, err := asks(slow); err != nil || refused == "" {
		t.Errorf("after the first one: %q, %v", refused, err)
	}
}
