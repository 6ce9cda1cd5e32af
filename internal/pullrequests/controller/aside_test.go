// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// answering is a forge and a server with these answers; CODEOWNERS is answered once nobody waits for it.
type answering struct {
	forge.Forge
	client.Client
	Sources
	changes func(context.Context) (forge.Changes, error)
	file    func(context.Context) ([]byte, error)
	head    error
	open    atomic.Int32
}

func (*answering) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (*answering) Base(context.Context, *sourcev1.GitRepository) (*Source, error) {
	return &Source{Revision: "main@sha1:aaaa"}, nil
}

func (a *answering) Head(context.Context, *sourcev1.GitRepository, forge.PullRequest) (*Source, error) {
	return &Source{}, a.head
}

func (*answering) Limits() forge.Limits { return forge.Limits{Codeowners: []string{"CODEOWNERS"}} }

func (a *answering) ChangedFiles(ctx context.Context, _, _ int) (forge.Changes, error) {
	return a.changes(ctx)
}

func (a *answering) File(ctx context.Context, _, _ string) ([]byte, error) {
	a.open.Add(1)
	defer a.open.Add(-1)
	return a.file(ctx)
}

// TestNothingIsAskedBehindAPass: a pass that fails ends its questions, and a client that panics fails the pass only.
func TestNothingIsAskedBehindAPass(t *testing.T) {
	down := errors.New("the forge is down")
	none := func(context.Context) (forge.Changes, error) { return forge.Changes{}, nil }
	for sentence, c := range map[string]struct {
		changes func(context.Context) (forge.Changes, error)
		file    func(context.Context) ([]byte, error)
		fails   string
		owners  string
	}{
		"the changes fail while CODEOWNERS is asked for": {
			func(context.Context) (forge.Changes, error) { return forge.Changes{}, down },
			func(ctx context.Context) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() },
			"the forge is down", "context canceled"},
		"the client panics about the changes": {
			func(context.Context) (forge.Changes, error) { panic("no such field") },
			func(ctx context.Context) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() },
			"ask the forge: panic: no such field. This is a bug in Yuba", "context canceled"},
		"the client panics about CODEOWNERS": {none,
			func(context.Context) ([]byte, error) { panic("no such file") },
			"", "read CODEOWNERS: panic: no such file. This is a bug in Yuba"},
		"nothing fails": {none, func(context.Context) ([]byte, error) { return []byte("* @a"), nil }, "", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := &answering{changes: c.changes, file: c.file}
			r := &Reconciler{Client: a, Sources: a, ctx: t.Context(), Owners: func(forge.Kind, string, []byte, []string) ([][]string, error) { return nil, nil }}
			o := &yubav1.PullRequestPlanner{}
			l := &link{forge: a, planner: o, source: repository("infra")}
			s, problem, err := r.gather(t.Context(), o, l, &pull{Now: forge.PullRequest{Number: 7, Base: forge.End{Branch: "main"}}})
			for what, got := range map[string][2]any{"the pass": {err, c.fails}, "CODEOWNERS": {s.owners.err, c.owners}} {
				err, _ := got[0].(error)
				want := got[1].(string) //nolint:forcetypeassert // the table has texts
				if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", what, err, want)
				}
			}
			if problem != nil || a.open.Load() != 0 {
				t.Errorf("%v; %d questions go on", problem, a.open.Load())
			}
			if remembered := l.owners.commit != ""; remembered != (c.owners == "") {
				t.Errorf("a CODEOWNERS is remembered: %+v", l.owners)
			}
		})
	}
}

// TestAHeadThatCannotBeFetchedEndsTheQuestions: a large pull request's list of files takes many answers, and nobody needs it then.
func TestAHeadThatCannotBeFetchedEndsTheQuestions(t *testing.T) {
	gone, ended := errors.New("the commit is gone"), errors.New("nobody ended the question")
	var asked error
	a := &answering{head: gone, file: func(context.Context) ([]byte, error) { return nil, nil }, changes: func(ctx context.Context) (forge.Changes, error) {
		select {
		case <-ctx.Done():
			asked = ctx.Err()
		case <-time.After(10 * time.Second):
			asked = ended
		}
		return forge.Changes{}, asked
	}}
	r := &Reconciler{Client: a, Sources: a, ctx: t.Context(), Owners: func(forge.Kind, string, []byte, []string) ([][]string, error) { return nil, nil }}
	o := &yubav1.PullRequestPlanner{}
	_, problem, err := r.gather(t.Context(), o, &link{forge: a, planner: o, source: repository("infra")}, &pull{Now: forge.PullRequest{Number: 7, Base: forge.End{Branch: "main"}}})
	if !errors.Is(problem, gone) || err != nil || !errors.Is(asked, context.Canceled) {
		t.Errorf("problem %v, error %v; the list of files: %v", problem, err, asked)
	}
}
