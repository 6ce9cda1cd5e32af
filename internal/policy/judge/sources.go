// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/policy/rego"
)

// Source is a source of rules.
type Source struct {
	Kind, Namespace, Name string
}

// Sources read sources.
type Sources interface {
	// Files returns the files in a directory of a source's artifact that keep accepts, by their paths in
	// the directory. The error is for people: the source is not there, or has no artifact.
	Files(ctx context.Context, s Source, dir string, keep func(name string) bool) (revision string, files map[string]string, err error)
}

// state is what a pass finds out about the rules from sources.
type state struct {
	// problems let no plan pass; troubles are about rules of which the last good ones stay in force.
	problems, troubles []string
	// retry is true if trying again may help.
	retry bool
}

// gatherBundles takes over the rules from the sources of a policy, writes what is in force to the
// status, and returns the policy with them.
func gatherBundles[P object](ctx context.Context, k *Keeper, obj P, of func(P) *policy) (*policy, state) {
	p, st := of(obj), state{}
	var inForce []yubav1.PolicyBundle
	for _, s := range p.sources {
		if s.ref == "" || s.problem != "" || slices.ContainsFunc(inForce, func(b yubav1.PolicyBundle) bool { return b.Source == s.ref && b.Path == s.path }) {
			continue
		}
		last := p.attached.bundleOf(s)
		fresh, err := k.fetch(ctx, p, s, last)
		switch {
		case err == nil:
			inForce = append(inForce, *fresh)
		case last != nil:
			inForce, st.retry = append(inForce, *last), true
			st.troubles = append(st.troubles, fmt.Sprintf("%s: %s. The rules of revision %s (%.19s) stay in force", s.at, shortened(err), last.Revision, last.Digest))
		default:
			st.retry = true
			st.problems = append(st.problems, fmt.Sprintf("%s: %s", s.at, shortened(err)))
		}
	}
	obj.State().Bundles = inForce
	p = of(obj)
	for _, s := range p.sources {
		if s.inline == nil || s.problem != "" || k.Evaluator == nil {
			continue
		}
		if err := k.Evaluator.check(ctx, nil, s); err != nil {
			st.problems = append(st.problems, shortened(err))
		}
	}
	return p, st
}

func shortened(err error) string {
	return strings.TrimSuffix(shorten.Cut(shorten.Line(err.Error()), 600), ".")
}

// fetch reads the rules of a source, compiles them, and keeps them. It returns the last ones if they
// are the same.
func (k *Keeper) fetch(ctx context.Context, p *policy, s *source, last *yubav1.PolicyBundle) (*yubav1.PolicyBundle, error) {
	if k.Sources == nil || k.Evaluator == nil {
		return nil, errors.New("this server does not read sources of rules")
	}
	kind, rest, _ := strings.Cut(s.ref, "/")
	namespace, name, _ := strings.Cut(rest, "/")
	revision, files, err := k.Sources.Files(ctx, Source{kind, namespace, name}, s.path, rego.IsFile)
	if err != nil {
		return nil, err
	}
	b, err := rego.NewBundle(files)
	if err != nil {
		return nil, fmt.Errorf("%s at %s, directory %q: %w", s.ref, revision, s.path, err)
	}
	for _, other := range p.sources {
		if other.ref != s.ref || other.path != s.path {
			continue
		}
		if _, err := k.Evaluator.Engine.Load(ctx, b, other.pkg); err != nil {
			return nil, fmt.Errorf("%s at %s: %w", s.ref, revision, err)
		}
	}
	packed, err := b.Pack()
	if err != nil {
		return nil, err
	}
	if err := k.Evaluator.Store.PutBytes(ctx, bundleKey(b.Digest), packed); err != nil {
		return nil, fmt.Errorf("keep the rules of %s: %w", s.ref, err)
	}
	k.Evaluator.keep(b)
	if last != nil && last.Digest == b.Digest {
		same := *last
		same.Revision = revision
		return &same, nil
	}
	return &yubav1.PolicyBundle{Source: s.ref, Path: s.path, Revision: revision, Digest: b.Digest, Since: metav1.Now()}, nil
}

// each calls do for each policy.
func (k *Keeper) each(ctx context.Context, do func(obj client.Object, spec *yubav1.PolicySpec, status *yubav1.PolicyStatus)) error {
	var global yubav1.ClusterPolicyList
	if err := k.Client.List(ctx, &global, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range global.Items {
		do(&global.Items[i], &global.Items[i].Spec.PolicySpec, &global.Items[i].Status)
	}
	var local yubav1.PolicyList
	if err := k.Client.List(ctx, &local, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range local.Items {
		do(&local.Items[i], &local.Items[i].Spec, &local.Items[i].Status)
	}
	return nil
}

// readers enqueues the policies of one scope that read a source.
func (k *Keeper) readers(kind string, local bool) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, source client.Object) []reconcile.Request {
		var requests []reconcile.Request
		err := k.each(ctx, func(obj client.Object, spec *yubav1.PolicySpec, _ *yubav1.PolicyStatus) {
			if (obj.GetNamespace() != "") != local {
				return
			}
			reads := slices.ContainsFunc(spec.Rules, func(r yubav1.PolicyRule) bool {
				return r.Rego != nil && r.Rego.SourceRef != nil && r.Rego.SourceRef.Kind == kind && r.Rego.SourceRef.Name == source.GetName() &&
					(r.Rego.SourceRef.Namespace == source.GetNamespace() || r.Rego.SourceRef.Namespace == "" && obj.GetNamespace() == source.GetNamespace())
			})
			if reads {
				requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}})
			}
		})
		if err != nil {
			k.Log.Warn("the policies that read a source cannot be listed, so its rules may come into force late", "source", source.GetName(), "error", err)
		}
		return requests
	})
}

func sourceMetadata(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	source := &metav1.PartialObjectMetadata{}
	source.SetGroupVersionKind(kind)
	return source
}
