// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/policy/judge"
	"github.com/yuba-dev/yuba/internal/policy/rego"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

// policyEvaluator evaluates rules in Rego in processes of yuba-policy, which end with this one.
func (e *engine) policyEvaluator() *judge.Evaluator {
	return &judge.Evaluator{Engine: rego.NewEngine(beside), Store: policyBundles{e.blobs}}
}

// policyBundles keeps rules from sources beside the other blobs.
type policyBundles struct{ *blob.Store }

// Keys implements [judge.BundleStore].
func (b policyBundles) Keys(ctx context.Context, prefix string) (map[string]time.Time, error) {
	keys := map[string]time.Time{}
	for info, err := range b.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		keys[info.Key] = info.Modified
	}
	return keys, nil
}

// policySources reads the sources of rules, as those of stacks.
func (e *engine) policySources(r *stacks.Reconciler) judge.Sources {
	return &policySources{sources: r.Source, limits: archive.Limits{MaxPacked: e.opts.limits().ArchiveBytes}.WithDefaults()}
}

type policySources struct {
	sources *reads.Sources
	limits  archive.Limits
}

// Files implements [judge.Sources].
func (p *policySources) Files(ctx context.Context, s judge.Source, dir string, keep func(name string) bool) (string, map[string]string, error) {
	a, err := p.sources.Artifact(ctx, s.Kind, types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
	if err != nil {
		return "", nil, err
	}
	packed, err := p.sources.Store.OpenArtifact(ctx, a.Digest)
	if err != nil {
		return "", nil, fmt.Errorf("read %s %s/%s at %s: %w", s.Kind, s.Namespace, s.Name, a.Revision, err)
	}
	defer packed.Close() //nolint:errcheck // read only
	within := func(name string) (string, bool) {
		if dir == "" {
			return path.Clean(name), true
		}
		return strings.CutPrefix(path.Clean(name), dir+"/")
	}
	content, err := archive.Files(ctx, packed, p.limits, a.Digest, rego.MaxBytes, func(name string) bool {
		inner, ok := within(name)
		return ok && keep(inner)
	})
	if err != nil {
		return "", nil, fmt.Errorf("read %s %s/%s at %s: %w", s.Kind, s.Namespace, s.Name, a.Revision, err)
	}
	files := map[string]string{}
	for name, text := range content {
		inner, _ := within(name)
		files[inner] = string(text)
	}
	return a.Revision, files, nil
}

// sourceKindsOf are the kinds of sources that this API serves.
func sourceKindsOf(names []string) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, name := range names {
		kinds = append(kinds, sourcev1.GroupVersion.WithKind(name))
	}
	return kinds
}
