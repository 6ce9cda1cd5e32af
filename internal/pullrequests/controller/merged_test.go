// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
)

// fetched is a base that is fetched.
type fetched struct {
	Sources
	source Source
}

func (f fetched) Base(context.Context, *sourcev1.GitRepository) (*Source, error) {
	return &f.source, nil
}

func TestFilesOfTheMergeCommit(t *testing.T) {
	const commit = "cccccccccccc"
	head := texts(map[string]string{"s/main.tf": "# planned", "other/main.tf": "# 1"})
	l := &link{source: &sourcev1.GitRepository{}}
	l.source.Namespace, l.source.Name = "prod", "infra"
	for sentence, c := range map[string]struct {
		files              map[string]string
		fetched, planned   string
		path               string
		digest             string
		elsewhere, another bool
		want               bool
	}{
		"the same files":             {files: map[string]string{"s/main.tf": "# planned", "other/main.tf": "# 2"}, want: true},
		"a provisioner was added":    {files: map[string]string{"s/main.tf": "# planned, and a provisioner"}},
		"a file was added":           {files: map[string]string{"s/main.tf": "# planned", "s/more.tf": ""}},
		"the source has moved on":    {files: map[string]string{"s/main.tf": "# planned"}, fetched: "main@sha1:later"},
		"the plan is of another one": {files: map[string]string{"s/main.tf": "# planned"}, planned: "main@sha1:later"},
		"the stack has another path": {files: map[string]string{"s/main.tf": "# planned", "t/main.tf": "# planned"}, path: "t"},
		"it changes something else":  {files: map[string]string{"s/main.tf": "# planned"}, digest: "d2"},
		"its program is elsewhere":   {files: map[string]string{"s/main.tf": "# planned"}, elsewhere: true},
		"it follows another source":  {files: map[string]string{"s/main.tf": "# planned"}, another: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			or := func(text, other string) string {
				if text != "" {
					return text
				}
				return other
			}
			s := &stack{Name: "prod/s", Digest: "d1", Files: discover.Sum(head, discover.Stack{Path: "s"})}
			if c.elsewhere {
				s.Files = ""
			}
			var o infrav1.Terraform
			o.Namespace, o.Name, o.Spec.Path = "prod", "s", or(c.path, "./s")
			o.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: "infra"}
			if c.another {
				o.Spec.SourceRef.Name = "another"
			}
			o.Status.LastPlannedRevision = or(c.planned, "main@sha1:"+commit)
			o.Status.Plan.Pending, o.Status.Plan.ChangesDigest = "plan-1", or(c.digest, "d1")
			r := &Reconciler{Sources: fetched{source: Source{Revision: or(c.fetched, "main@sha1:"+commit), Tree: texts(c.files)}}}
			if got, err := r.same(t.Context(), l, &pull{Merged: &merged{Commit: commit}}, s, &o); err != nil || got != c.want {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}
