// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/pullrequests/hook"
)

// fetchPauses are the waits between requests to fetch a merge commit. Replicas of a forge can be late with it.
var fetchPauses = []time.Duration{5 * time.Second, 20 * time.Second, time.Minute}

// fetchMerged asks the GitRepository to fetch the merge commit, as nobody wants to wait for its interval. It asks again as
// long as the GitRepository has not changed since.
func (r *Reconciler) fetchMerged(ctx context.Context, m *memory, l *link, p *pull) {
	had := revisionOf(l.source)
	switch {
	case p.Merged.Commit != "" && strings.Contains(had, p.Merged.Commit):
		return
	case p.Merged.Times > 0 && had != p.Merged.Had: // it has fetched, a later commit perhaps
		return
	case p.Merged.Times > len(fetchPauses):
		return
	case p.Merged.Times > 0:
		if next := p.Merged.Asked.Add(fetchPauses[p.Merged.Times-1]); r.now().Before(next) {
			m.at(next)
			return
		}
	}
	r.fetch(ctx, l.source)
	p.Merged.Asked, p.Merged.Had = r.now().UTC(), had
	if p.Merged.Times++; p.Merged.Times <= len(fetchPauses) {
		m.at(p.Merged.Asked.Add(fetchPauses[p.Merged.Times-1]))
	}
}

func revisionOf(source *sourcev1.GitRepository) string {
	if source.Status.Artifact == nil {
		return ""
	}
	return source.Status.Artifact.Revision
}

// tracks reports whether a push is to the branch that a GitRepository follows.
func tracks(l *link, e hook.Event) bool {
	ref := l.source.Spec.Reference
	switch {
	case e.Commit != "" && strings.Contains(revisionOf(l.source), e.Commit):
		return false // somebody was faster
	case ref == nil || *ref == (sourcev1.GitRepositoryRef{}):
		return e.Branch == l.repository.Branch
	case ref.Commit != "" || ref.Tag != "" || ref.SemVer != "":
		return false
	case ref.Name != "":
		return ref.Name == "refs/heads/"+e.Branch
	}
	return ref.Branch == e.Branch
}

// fetch asks a GitRepository to fetch. If that is not allowed, its interval does it.
func (r *Reconciler) fetch(ctx context.Context, source *sourcev1.GitRepository) {
	if source.Spec.Suspend {
		return
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{requestedAt: r.now().Format(time.RFC3339Nano)}}})
	if err == nil {
		o := &sourcev1.GitRepository{}
		o.Namespace, o.Name = source.Namespace, source.Name
		err = r.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch))
	}
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		r.Log.Warn("cannot ask a GitRepository to fetch: it does at its interval", "gitRepository", source.Namespace+"/"+source.Name, "error", err)
	}
}
