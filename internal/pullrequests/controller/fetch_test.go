// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/hook"
)

// asked counts patches, and refuses them.
type asked struct {
	client.Client
	times int
}

func (a *asked) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	a.times++
	return errors.New("forbidden")
}

func TestAMergeCommitIsFetched(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const before, commit = "main@sha1:aaaa", "bbbb"
	type step struct {
		after    time.Duration
		revision string
		times    int
	}
	for sentence, c := range map[string]struct {
		commit  string
		suspend bool
		steps   []step
	}{
		"at once":                               {commit: commit, steps: []step{{0, before, 1}, {1, before, 1}}},
		"again, if nothing has come":            {commit: commit, steps: []step{{0, before, 1}, {4, before, 1}, {5, before, 2}, {24, before, 2}, {25, before, 3}, {85, before, 4}, {500, before, 4}}},
		"not again, once it is here":            {commit: commit, steps: []step{{0, before, 1}, {6, "main@sha1:" + commit, 1}}},
		"not again, once there is a later":      {commit: commit, steps: []step{{0, before, 1}, {6, "main@sha1:cccc", 1}, {60, "main@sha1:cccc", 1}}},
		"not if it is here already":             {commit: commit, steps: []step{{0, "main@sha1:" + commit, 0}}},
		"a commit that the forge does not tell": {steps: []step{{0, before, 1}, {1, "main@sha1:cccc", 1}}},
		"not for a suspended one":               {commit: commit, suspend: true, steps: []step{{0, before, 0}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			now := start
			a := &asked{}
			r := &Reconciler{Client: a, Log: slog.New(slog.DiscardHandler), now: func() time.Time { return now }}
			p, m := &pull{Merged: &merged{Commit: c.commit}}, &memory{}
			for _, s := range c.steps {
				now = start.Add(s.after * time.Second)
				l := &link{source: repository("infra")}
				l.source.Spec.Suspend, l.source.Status.Artifact = c.suspend, &meta.Artifact{Revision: s.revision}
				r.fetchMerged(t.Context(), m, l, p)
				if a.times != s.times {
					t.Errorf("after %d s it was asked %d times, want %d", s.after, a.times, s.times)
				}
			}
		})
	}
}

func TestAPushToTheBranchIsFetched(t *testing.T) {
	push := hook.Event{Kind: hook.Push, Branch: "main", Commit: "bbbb"}
	for sentence, c := range map[string]struct {
		ref      *sourcev1.GitRepositoryRef
		revision string
		want     bool
	}{
		"its branch":           {&sourcev1.GitRepositoryRef{Branch: "main"}, "main@sha1:aaaa", true},
		"the default branch":   {nil, "", true},
		"by the name of a ref": {&sourcev1.GitRepositoryRef{Name: "refs/heads/main"}, "", true},
		"another branch":       {&sourcev1.GitRepositoryRef{Branch: "stable"}, "", false},
		"a tag":                {&sourcev1.GitRepositoryRef{Tag: "main"}, "", false},
		"a commit":             {&sourcev1.GitRepositoryRef{Branch: "main", Commit: "aaaa"}, "", false},
		"a commit that it has": {&sourcev1.GitRepositoryRef{Branch: "main"}, "main@sha1:bbbb", false},
	} {
		l := &link{source: repository("infra"), repository: forge.Repository{Branch: "main"}}
		l.source.Spec.Reference, l.source.Status.Artifact = c.ref, &meta.Artifact{Revision: c.revision}
		if got := tracks(l, push); got != c.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}
