// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// Subject is a stack as policies see it.
type Subject struct {
	Namespace, Name string
	Labels          map[string]string
}

func (s Subject) String() string { return s.Namespace + "/" + s.Name }

// Binding has the policies that select a subject.
type Binding struct {
	// Set is the digest of the policies' specs, "sha256:" and hex digits; empty if there are none.
	Set      string
	policies []*policy
	people   People
}

// Policies are the names of the policies, sorted: ClusterPolicy/NAME or Policy/NAMESPACE/NAME.
func (b *Binding) Policies() []string {
	var names []string
	for _, p := range b.policies {
		names = append(names, p.name)
	}
	return names
}

// Groups are those that the policies want approvals from, sorted.
func (b *Binding) Groups() []string {
	var all []string
	for _, p := range b.policies {
		if p.spec.Approvals != nil {
			all = append(all, p.spec.Approvals.Groups...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// AsksNotAuthor reports whether a policy wants approvals by others than the authors of a change.
func (b *Binding) AsksNotAuthor() bool {
	return slices.ContainsFunc(b.policies, func(p *policy) bool { return p.spec.Approvals != nil && p.spec.Approvals.NotAuthor })
}

// Judge knows the policies of an API.
type Judge struct {
	// Cache has the policies and the metadata of namespaces.
	Cache client.Reader
	// Evaluator evaluates rules in Rego; nil for none, and then they let nothing pass.
	Evaluator *Evaluator
	// Turns limits the judgements at a time.
	Turns Turns

	// prepared has the policies by their names, as of their generations.
	prepared sync.Map
}

// Bind finds the policies that select a subject.
func (j *Judge) Bind(ctx context.Context, s Subject) (*Binding, error) {
	all, err := j.all(ctx, s.Namespace)
	if err != nil {
		return nil, err
	}
	b := &Binding{}
	for _, p := range all {
		selects, err := j.selects(ctx, p, s)
		if err != nil {
			return nil, err
		}
		if selects {
			b.policies = append(b.policies, p)
		}
	}
	b.identify()
	return b, nil
}

// identify sorts the policies, and computes the digest of their set.
func (b *Binding) identify() {
	if len(b.policies) == 0 {
		return
	}
	slices.SortFunc(b.policies, func(a, b *policy) int { return strings.Compare(a.name, b.name) })
	sum := sha256.New()
	for _, p := range b.policies {
		fmt.Fprintf(sum, "%s %s\n", p.name, p.digest) //nolint:errcheck // a hash takes everything
	}
	b.Set = "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// all returns the policies that may select stacks of a namespace.
func (j *Judge) all(ctx context.Context, namespace string) ([]*policy, error) {
	// Nothing below changes what it reads.
	var global yubav1.ClusterPolicyList
	if err := j.Cache.List(ctx, &global, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the ClusterPolicies: %w", err)
	}
	var local yubav1.PolicyList
	if err := j.Cache.List(ctx, &local, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the Policies of namespace %s: %w", namespace, err)
	}
	var all []*policy
	for i := range global.Items {
		all = append(all, j.ofCluster(&global.Items[i]))
	}
	for i := range local.Items {
		all = append(all, j.ofNamespace(&local.Items[i]))
	}
	return all, nil
}

func (j *Judge) ofCluster(o *yubav1.ClusterPolicy) *policy {
	name := yubav1.ClusterPolicyKind + "/" + o.Name
	return j.remember(name, o, o.Status.Bundles, func() *policy {
		return prepare(name, o.Spec, &o.Spec.PolicySpec, o.Spec.NamespaceSelector)
	})
}

func (j *Judge) ofNamespace(o *yubav1.Policy) *policy {
	name := yubav1.PolicyKind + "/" + o.Namespace + "/" + o.Name
	return j.remember(name, o, o.Status.Bundles, func() *policy {
		return prepare(name, o.Spec, &o.Spec, nil)
	})
}

// remembered is a policy as of one generation of its object, and its bundles.
type remembered struct {
	uid        types.UID
	generation int64
	bundles    []yubav1.PolicyBundle
	policy     *policy
}

func (j *Judge) remember(name string, o client.Object, bundles []yubav1.PolicyBundle, prepare func() *policy) *policy {
	if known, ok := j.prepared.Load(name); ok {
		r := known.(remembered)
		if r.uid == o.GetUID() && r.generation == o.GetGeneration() && sameBundles(r.bundles, bundles) {
			return r.policy
		}
	}
	bundles = slices.Clone(bundles)
	p := prepare().attach(j.Evaluator, bundles)
	j.prepared.Store(name, remembered{o.GetUID(), o.GetGeneration(), bundles, p})
	return p
}

func sameBundles(a, b []yubav1.PolicyBundle) bool {
	return slices.EqualFunc(a, b, func(a, b yubav1.PolicyBundle) bool {
		return a.Source == b.Source && a.Path == b.Path && a.Digest == b.Digest
	})
}

func (j *Judge) selects(ctx context.Context, p *policy, s Subject) (bool, error) {
	if !p.stacks.Matches(labels.Set(s.Labels)) {
		return false, nil
	}
	if p.namespaces == nil {
		return true, nil
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := j.Cache.Get(ctx, types.NamespacedName{Name: s.Namespace}, namespace); err != nil {
		return false, fmt.Errorf("read the labels of namespace %s, by which %s selects: %w", s.Namespace, p.name, err)
	}
	return p.namespaces.Matches(labels.Set(namespace.Labels)), nil
}

// digestOf is the digest of a spec.
func digestOf(spec any) string {
	text, err := json.Marshal(spec)
	if err != nil {
		// Never equal to another one, so the plan is judged again and again rather than not at all.
		return "unreadable: " + err.Error()
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
