// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"sync"
	"testing"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// owning is a forge whose CODEOWNERS is at the second of three places. It answers once all three are asked for.
type owning struct {
	forge.Forge
	mu    sync.Mutex
	asked []string
	all   chan struct{}
	err   error
}

func (o *owning) Limits() forge.Limits { return forge.Limits{Codeowners: []string{"a", "b", "c"}} }

func (o *owning) File(ctx context.Context, path, ref string) ([]byte, error) {
	o.mu.Lock()
	if o.asked = append(o.asked, path+" at "+ref); len(o.asked)%3 == 0 {
		close(o.all)
	}
	all := o.all
	o.mu.Unlock()
	select {
	case <-all:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	switch {
	case o.err != nil:
		return nil, o.err
	case path == "a":
		return nil, &forge.NotFoundError{}
	}
	return []byte("* @" + path), nil
}

// TestCodeownersAreAskedForOnce: all places at once, and those of a commit never again, unless an owner must approve: then
// those of the branch count as they are now.
func TestCodeownersAreAskedForOnce(t *testing.T) {
	for sentence, c := range map[string]struct {
		required  bool
		revisions []string
		want      []string
	}{
		"the commit of the branch":                {false, []string{"main@sha1:aaaa", "main@sha1:aaaa"}, []string{"a at aaaa", "b at aaaa", "c at aaaa"}},
		"another commit of it":                    {false, []string{"main@sha1:aaaa", "main@sha1:bbbb"}, []string{"a at aaaa", "b at aaaa", "c at aaaa", "a at bbbb", "b at bbbb", "c at bbbb"}},
		"the commit of another branch":            {false, []string{"release@sha1:aaaa"}, []string{"a at main", "b at main", "c at main"}},
		"the branch, as an owner must approve it": {true, []string{"main@sha1:aaaa", "main@sha1:aaaa"}, []string{"a at main", "a at main", "b at main", "b at main", "c at main", "c at main"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			o, f := &yubav1.PullRequestPlanner{}, &owning{}
			o.Spec.Approvals.CodeOwners = c.required
			r := &Reconciler{Owners: func(forge.Kind, string, []byte, []string) ([][]string, error) { return nil, nil }}
			l := &link{forge: f, planner: o}
			for _, revision := range c.revisions {
				f.all = make(chan struct{})
				if got := r.codeowners(t.Context(), l, "main", revision)(); got.place != "b" || string(got.content) != "* @b" || got.err != nil {
					t.Errorf("CODEOWNERS is %+v", got)
				}
			}
			slices.Sort(f.asked)
			slices.Sort(c.want)
			if !slices.Equal(f.asked, c.want) {
				t.Errorf("asked for %q, want %q", f.asked, c.want)
			}
		})
	}
}

// TestCodeownersThatCannotBeReadAreAskedForAgain: a failure is not remembered.
func TestCodeownersThatCannotBeReadAreAskedForAgain(t *testing.T) {
	f := &owning{err: &forge.DownError{}}
	r := &Reconciler{Owners: func(forge.Kind, string, []byte, []string) ([][]string, error) { return nil, nil }}
	l := &link{forge: f, planner: &yubav1.PullRequestPlanner{}}
	for _, down := range []bool{true, false} {
		f.all = make(chan struct{})
		if !down {
			f.err = nil
		}
		if got := r.codeowners(t.Context(), l, "main", "main@sha1:aaaa")(); (got.err != nil) != down {
			t.Errorf("%v: %+v", down, got)
		}
	}
}
