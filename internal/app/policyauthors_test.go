// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestWhoMadeAChange(t *testing.T) {
	artifact := func(revision, authors string, after *meta.Artifact) *meta.Artifact {
		a := &meta.Artifact{Revision: revision, Digest: "sha256:" + revision, Metadata: map[string]string{infrav1.ArtifactAuthors: authors}}
		if after != nil {
			a.Metadata[infrav1.ArtifactEarlier] = infrav1.EarlierAuthors(after)
		}
		return a
	}
	one := artifact("1", "eve", nil)
	alice := artifact("2", "alice", one)
	bob := artifact("3", "bob", alice)
	ran := func(a *meta.Artifact, generation int64, change ...func(*run.Spec)) *run.Record {
		rec := &run.Record{Generation: generation, Spec: run.Spec{ID: a.Revision, Artifact: run.Artifact{Revision: a.Revision, Digest: a.Digest},
			Variables: map[string]run.Variable{"size": {Value: json.RawMessage("1")}}, Targets: nil}}
		for _, c := range change {
			c(&rec.Spec)
		}
		return rec
	}
	larger := func(s *run.Spec) { s.Variables = map[string]run.Variable{"size": {Value: json.RawMessage("2")}} }
	for sentence, c := range map[string]struct {
		source    *meta.Artifact
		last, rec *run.Record
		authors   []string
		unknown   string
	}{
		"one commit":                                  {alice, ran(one, 4), ran(alice, 4), []string{"alice"}, ""},
		"a typo fix does not hide the change":         {bob, ran(one, 4), ran(bob, 4), []string{"alice", "bob"}, ""},
		"the commit was applied before":               {bob, ran(bob, 4), ran(bob, 4), []string{"bob"}, ""},
		"the object has changed, too":                 {bob, ran(alice, 4), ran(bob, 5), []string{"bob"}, "the object does not say who changed it"},
		"only the object has changed":                 {bob, ran(bob, 4), ran(bob, 5), []string{"bob"}, "the object does not say who changed it"},
		"a variable has another value":                {bob, ran(alice, 4), ran(bob, 4, larger), []string{"bob"}, "inputs of the stack"},
		"everything is destroyed":                     {bob, ran(alice, 4), ran(bob, 4, func(s *run.Spec) { s.Destroy = true }), []string{"bob"}, "inputs of the stack"},
		"the commits between are not known":           {artifact("9", "bob", nil), ran(one, 4), ran(artifact("9", "bob", nil), 4), []string{"bob"}, "all commits"},
		"nothing was applied":                         {alice, nil, ran(alice, 1), []string{"alice", "eve"}, "the last apply is not known"},
		"an earlier version recorded no generation":   {alice, ran(one, 0), ran(alice, 0), []string{"alice"}, "the object does not say who changed it"},
		"the source has moved on":                     {bob, ran(one, 4), ran(alice, 4), nil, "the source does not say"},
		"the source names nobody":                     {nil, ran(one, 4), ran(alice, 4), nil, "the source does not say"},
		"the source ignores other files than before":  {alice, ran(alice, 4, func(s *run.Spec) { s.Artifact.Digest = "sha256:other" }), ran(alice, 4), []string{"alice"}, "other files"},
		"a commit whose authors nobody knows between": {artifact("4", "bob", artifact("3", "", one)), ran(one, 4), ran(artifact("4", "bob", nil), 4), []string{"bob"}, "all commits"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := authorsBetween(c.source, c.last, *c.rec)
			if !slices.Equal(got.authors, c.authors) || (got.unknown == "") != (c.unknown == "") || !strings.Contains(got.unknown, c.unknown) {
				t.Errorf("%+v", got)
			}
		})
	}
}
