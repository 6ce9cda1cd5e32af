// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/policy/decide"
	"github.com/yuba-dev/yuba/internal/policy/facts"
)

// Trial compares the policies of an API with the same ones and a policy that is not applied there.
type Trial struct {
	judge  *Judge
	policy *Definition
}

// Try makes a trial of a policy, as if it was in force. It replaces a policy of its name.
func (j *Judge) Try(d *Definition) *Trial {
	tried := d.Enforced()
	tried.policy.attached.evaluator = j.Evaluator
	return &Trial{judge: j, policy: tried}
}

// Bind finds the policies that select a subject now, and those that would. Concerned is true if the
// policy selects it, or one that it replaces does.
func (t *Trial) Bind(ctx context.Context, s Subject) (now, then *Binding, concerned bool, err error) {
	if now, err = t.judge.Bind(ctx, s); err != nil {
		return nil, nil, false, err
	}
	var marks map[string]string
	if t.policy.SelectsByNamespace() {
		namespace := &metav1.PartialObjectMetadata{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		if err := t.judge.Cache.Get(ctx, types.NamespacedName{Name: s.Namespace}, namespace); err != nil {
			return nil, nil, false, fmt.Errorf("read the labels of namespace %s, by which %s selects: %w", s.Namespace, t.policy, err)
		}
		marks = namespace.Labels
	}
	own := func(p *policy) bool { return p.name == t.policy.policy.name }
	if at := slices.IndexFunc(now.policies, own); at >= 0 {
		// Rules from sources are those in force.
		concerned, t.policy.policy.attached.bundles = true, now.policies[at].attached.bundles
	}
	then = &Binding{policies: slices.DeleteFunc(slices.Clone(now.policies), own)}
	if t.policy.Selects(s, marks) {
		then.policies, concerned = append(then.policies, t.policy.policy), true
	}
	then.identify()
	return now, then, concerned, nil
}

// Compare judges a plan by two bindings, each with a budget of its own. The facts are computed once. The
// result is of no use if the context has ended.
func Compare(ctx context.Context, now, then *Binding, s Subject, uid string, in facts.Inputs, at time.Time) (before, after decide.Decision) {
	now, done := now.Within(ctx)
	defer done()
	document, err := facts.Build(in)
	before = now.judge(s, uid, in, document, err, at)
	then, doneThen := then.Within(ctx)
	defer doneThen()
	return before, then.judge(s, uid, in, document, err, at)
}
