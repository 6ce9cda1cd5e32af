// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// records keeps records in memory.
type records map[string][]byte

func (r records) Get(_ context.Context, key string, limit int64) ([]byte, error) {
	if int64(len(r[key])) > limit {
		return nil, fmt.Errorf("read: %w", &TooLargeError{Key: key})
	}
	return r[key], nil
}

func (r records) PutBytes(_ context.Context, key string, data []byte) error {
	r[key] = data
	return nil
}

func (r records) Delete(_ context.Context, key string) error {
	delete(r, key)
	return nil
}

func (r records) Keys(_ context.Context, prefix string) (keys []string, err error) {
	for key := range r {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

func TestARecordThatIsTooLargeStopsNoOther(t *testing.T) {
	kept := records{}
	newServer := func() (*Reconciler, *memory) {
		r := &Reconciler{Log: slog.New(slog.DiscardHandler), Store: kept}
		o := &yubav1.PullRequestPlanner{}
		o.Namespace, o.Name, o.UID = "prod", "prs", "u"
		m, err := r.recall(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return r, m
	}
	r, m := newServer()
	small, large := &pull{Source: "infra", Now: forge.PullRequest{Number: 1}}, &pull{Source: "infra", Now: forge.PullRequest{Number: 2}}
	for _, p := range []*pull{small, large} {
		if err := r.store(t.Context(), m, p); err != nil {
			t.Fatal(err)
		}
	}
	if len(kept) != 2 {
		t.Fatalf("stored are %d records", len(kept))
	}
	// It grows: what is stored would be wrong by now.
	large.Stacks = []*stack{{Name: "prod/a", Text: strings.Repeat("x", maxRecord)}}
	if err := r.store(t.Context(), m, large); err != nil || len(kept) != 1 {
		t.Errorf("stored are %d records: %v", len(kept), err)
	}
	// A former server has stored one, and another that is no record.
	kept["pullrequests/u/infra/3.json"], kept["pullrequests/u/infra/4.json"] = make([]byte, maxRecord+1), []byte("{")
	if _, m = newServer(); len(m.pulls) != 1 || m.pulls[small.key()] == nil || len(kept) != 1 {
		t.Errorf("known are %d pull requests, stored are %d", len(m.pulls), len(kept))
	}
	failing := &Reconciler{Log: r.Log, Store: broken{kept}}
	if _, err := failing.recall(t.Context(), &yubav1.PullRequestPlanner{ObjectMeta: metav1.ObjectMeta{UID: "u"}}); err == nil {
		t.Error("a record that could not be read now is forgotten")
	}
}

// broken cannot be read.
type broken struct{ records }

func (broken) Get(context.Context, string, int64) ([]byte, error) { return nil, errors.New("no disk") }

func TestRecordsOfPlannersThatAreGone(t *testing.T) {
	keys := []string{"pullrequests/a/infra/1.json", "pullrequests/b/infra/1.json", "pullrequests/a/other/x/2.json", "pullrequests/aa/infra/1.json"}
	planners := []yubav1.PullRequestPlanner{{ObjectMeta: metav1.ObjectMeta{UID: "a"}}}
	if diff := cmp.Diff([]string{keys[1], keys[3]}, orphans(keys, planners)); diff != "" {
		t.Error(diff)
	}
}

func TestAPullRequestHasNotEveryStack(t *testing.T) {
	var all []infrav1.Terraform
	for i := range maxChanged + 10 {
		all = append(all, infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: fmt.Sprintf("s%03d", i)}, Spec: infrav1.TerraformSpec{Path: "s"}})
	}
	f := finding{planner: &yubav1.PullRequestPlanner{}, before: texts(map[string]string{"s/main.tf": ""}), after: texts(map[string]string{"s/main.tf": "# changed"})}
	f.head = f.after
	if got := f.programs(all[:maxChanged]); len(got) != maxChanged || f.more {
		t.Errorf("planned are %d, more: %v", len(got), f.more)
	}
	got := f.programs(all)
	if len(got) != maxChanged || !f.more {
		t.Errorf("planned are %d, more: %v", len(got), f.more)
	}
	// Nor does a manifest add one, or ask the API about it.
	p := &pull{Stacks: got}
	d := discover.Difference{Namespace: "prod", Name: "new", Created: true}
	if err := (&Reconciler{}).change(t.Context(), p, &f, d, Manifest{}, Manifest{Namespace: "prod", Name: "new", Object: []byte("{}")}); err != nil || len(p.Stacks) != maxChanged {
		t.Errorf("there are %d stacks: %v", len(p.Stacks), err)
	}
}

func TestManifestsThatAreTooMuchAreHeld(t *testing.T) {
	f := finding{}
	var stacks []*stack
	for range 3 {
		s := &stack{State: comment.Waiting, Manifest: make([]byte, maxManifests/2-1), Fields: []comment.Field{{Path: "p"}}}
		f.weigh(s)
		stacks = append(stacks, s)
	}
	if last := stacks[2]; last.State != comment.Held || last.Manifest != nil || last.Fields != nil || last.Reason == "" {
		t.Errorf("the last is %s: %s", last.State, last.Reason)
	}
	if stacks[0].State != comment.Waiting || stacks[1].State != comment.Waiting {
		t.Error("the others are held, too")
	}
	// What is compared at all is limited, too; the rest has only a digest.
	object := func(name, path string) Manifest {
		return Manifest{Namespace: "prod", Name: name, Object: fmt.Appendf(nil, `{"spec":{"path":%q}}`, path)}
	}
	left := 1
	flat := flattened([]Manifest{object("a", "x"), object("b", "y")}, &left)
	if flat[0].Fields["spec.path"] != `"x"` || flat[1].Fields["spec.path"] != "" || flat[1].Fields[theRest] == "" {
		t.Errorf("the fields are %+v", flat)
	}
	// What nobody changes takes no part of it.
	was, is := differing([]Manifest{object("a", "x"), object("b", "y")}, []Manifest{object("c", "z"), object("b", "w"), object("a", "x")})
	if len(was) != 1 || was[0].Name != "b" || len(is) != 2 {
		t.Errorf("different are %+v and %+v", was, is)
	}
}
