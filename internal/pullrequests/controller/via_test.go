// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/decide"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// TestStacksOfAnIncludingRepositoryAreAppliedLater: a lock pins a commit of one GitRepository, and such a stack follows another.
func TestStacksOfAnIncludingRepositoryAreAppliedLater(t *testing.T) {
	const head = "aaaaaaaaaaaa"
	via := &stack{Name: "prod/app", Via: "apps", State: comment.Planned, Digest: "d1", Text: "+ a"}
	p := &pull{Now: forge.PullRequest{State: forge.Open, Head: forge.End{Commit: head}}, Head: head, Found: true, Stacks: []*stack{via}}
	request := decide.Request{Enabled: true, Now: p.Now, Head: head, Found: true, Commit: head, Stacks: []decide.Candidate{via.candidate()}}
	if got := decide.Refusal(request); !strings.Contains(got, "nothing to apply before the merge") {
		t.Errorf("the answer is %q", got)
	}
	if got, want := p.tally(&memory{}, nil), (decide.Tally{Found: true, Later: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// owned is a forge with a file CODEOWNERS.
type owned struct{ forge.Forge }

func (owned) Limits() forge.Limits { return forge.Limits{Codeowners: []string{"CODEOWNERS"}} }

func (owned) Kind() forge.Kind { return forge.Gitea }

func (owned) File(context.Context, string, string) ([]byte, error) { return []byte("*"), nil }

// TestOwnersOfStacksOfAnIncludingRepository: the files that such a stack reads have other paths there than in the repository
// of the pull request, whose owners must approve.
func TestOwnersOfStacksOfAnIncludingRepository(t *testing.T) {
	r := &Reconciler{Log: slog.New(slog.DiscardHandler), Owners: func(_ forge.Kind, _ string, _ []byte, files []string) ([][]string, error) {
		return [][]string{files}, nil
	}}
	l := &link{forge: owned{}, planner: &yubav1.PullRequestPlanner{}}
	own, via := &stack{Name: "prod/net", Changed: []string{"net/main.tf"}}, &stack{Name: "prod/app", Via: "apps", Changed: []string{"vendor/net/main.tf"}}
	p := &pull{Stacks: []*stack{own, via}}
	all := []string{"net/main.tf", "README.md"}
	if err := r.own(l, p, &finding{changed: all}, r.codeowners(t.Context(), l, "main", "")()); err != nil {
		t.Fatal(err)
	}
	if len(own.Owners) != 1 || !slices.Equal(own.Owners[0], []string{"net/main.tf"}) {
		t.Errorf("the stack's own files are %v", own.Owners)
	}
	if len(via.Owners) != 1 || !slices.Equal(via.Owners[0], all) {
		t.Errorf("the files of a stack of an including repository are %v", via.Owners)
	}
}

// composing composes sources.
type composing struct{ fetched }

func (composing) Including(_ context.Context, repository *sourcev1.GitRepository, instead map[string]*Source) (*Source, error) {
	return &Source{Revision: repository.Name, Tree: instead["modules"].Tree, Close: func(context.Context) {}}, nil
}

// TestStacksBehindReadTheComposedSource: what is behind a stack of an including repository is planned with that one.
func TestStacksBehindReadTheComposedSource(t *testing.T) {
	w := newLookout(yubav1.ImpactAlways)
	w.r.Sources = composing{}
	source := repository("modules")
	w.m.sources = []*sourcev1.GitRepository{source, repository("apps", [3]string{"modules"})}
	w.p.Stacks = append(w.p.Stacks, &stack{Name: "prod/app", Via: "apps", State: comment.Planned, Digest: "d2", Reads: Outputs{Changed: []plan.OutputValueChange{{Name: "base"}}}})
	w.lookAt(t, &link{source: source})
	if len(w.planned) != 1 || len(w.planned[0].Stacks) != 2 {
		t.Fatalf("planned are %+v", w.planned)
	}
	if got := w.planned[0].Stacks; got[0].Source != nil || got[1].Source == nil || got[1].Source.Revision != "apps" {
		t.Errorf("the sources are %v and %v", got[0].Source, got[1].Source)
	}
}
