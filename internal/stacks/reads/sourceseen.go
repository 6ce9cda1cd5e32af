// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"context"
	"slices"
	"sync"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// seenSources remembers the artifacts of sources as last read: a commit that triggers a thousand
// stacks must not read their one source a thousand times.
type seenSources struct {
	mu   sync.Mutex
	last map[sourceName]seenSource
}

type sourceName struct {
	kind string
	name types.NamespacedName
}

type seenSource struct {
	uid      types.UID
	version  string
	artifact meta.Artifact
}

// maxSeen is more than any server has; at this size, all are dropped.
const maxSeen = 10_000

func (s *seenSources) note(kind string, name types.NamespacedName, obj client.Object, a *meta.Artifact) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sourceName{kind, name}
	if a == nil || a.Digest == "" {
		delete(s.last, key)
		return
	}
	if s.last == nil || len(s.last) >= maxSeen {
		s.last = map[sourceName]seenSource{}
	}
	s.last[key] = seenSource{obj.GetUID(), obj.GetResourceVersion(), *a.DeepCopy()}
}

func (s *seenSources) of(kind string, name types.NamespacedName) (seenSource, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, ok := s.last[sourceName{kind, name}]
	return seen, ok
}

// atRest reports whether the stack is unchanged and without a reconcile request. Otherwise the
// source may have changed just before, and its event may still come.
func atRest(obj *infrav1.Terraform) bool {
	return obj.Status.ObservedGeneration == obj.Generation && obj.ReconcileRequest() == obj.Status.LastHandledReconcileAt
}

// unchanged returns the artifact of a source whose metadata is as last read.
func (s *Sources) unchanged(ctx context.Context, kind string, name types.NamespacedName) (meta.Artifact, bool) {
	seen, ok := s.seen.of(kind, name)
	if !ok || s.Seen == nil || !slices.Contains(s.Watched, kind) {
		return meta.Artifact{}, false
	}
	is := &metav1.PartialObjectMetadata{}
	is.SetGroupVersionKind(sourcev1.GroupVersion.WithKind(kind))
	if err := s.Seen.Get(ctx, name, is); err != nil || is.UID != seen.uid || is.ResourceVersion != seen.version {
		return meta.Artifact{}, false
	}
	return seen.artifact, true
}
