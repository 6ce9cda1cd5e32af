// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

func includes(name, from, to string) func(*sourcev1.GitRepository) {
	return func(o *sourcev1.GitRepository) {
		o.Spec.Include = append(o.Spec.Include, sourcev1.GitRepositoryInclude{GitRepositoryRef: meta.LocalObjectReference{Name: name}, FromPath: from, ToPath: to})
	}
}

func TestOtherRepositoriesAreCopiedInAndFollowed(t *testing.T) {
	server := gittest.New(t)
	central, modules := server.Repository(t, "central"), server.Repository(t, "modules")
	head := central.Commit(t, "first", gittest.Files{"main.tf": "m", "modules/net/net.tf": "old", "modules/own.tf": "o"})
	modules.Commit(t, "first", gittest.Files{"tf/net/net.tf": "new", "other/x": "x"})
	s := newSite(t)
	o := s.repository("central", central.URL(), includes("modules", "tf", "modules"), includes("modules", "", ""))
	s.awaitFailure(o, "NotFound")
	included := s.repository("modules", modules.URL())
	s.awaitRevision(o, "main@sha1:"+head)
	want := map[string]string{"main.tf": "m", "modules/net/net.tf": "new", "modules/own.tf": "o", "modules/tf/net/net.tf": "new", "modules/other/x": "x"}
	if diff := cmp.Diff(want, s.tree(o)); diff != "" {
		t.Error(diff)
	}
	// What is included changes, and so does this.
	was := o.Status.Artifact.Digest
	second := modules.Commit(t, "second", gittest.Files{"tf/net/net.tf": "newer"})
	s.ask(included, "now")
	s.await(o, "it has what is new in the other", func() bool { return o.Status.Artifact.Digest != was })
	if got := s.tree(o)["modules/net/net.tf"]; got != "newer" {
		t.Error(got)
	}
	if a := o.Status.IncludedArtifacts; len(a) != 2 || a[0].Revision != "main@sha1:"+second || a[1].Revision != a[0].Revision {
		t.Error(a)
	}
	if diff := cmp.Diff(o.Spec.Include, o.Status.ObservedInclude); diff != "" {
		t.Error(diff)
	}
}

func TestIncludesThatLeadBackAreRefused(t *testing.T) {
	upstream := gittest.New(t).Repository(t, "central")
	upstream.Commit(t, "first", gittest.Files{"a": "1"})
	s := newSite(t)
	a := s.repository("a", upstream.URL(), includes("b", "", ""))
	s.awaitFailure(a, "NotFound")
	b := s.repository("b", upstream.URL(), includes("c", "", ""))
	c := s.repository("c", upstream.URL(), includes("a", "", ""))
	for _, o := range []*sourcev1.GitRepository{a, b, c} {
		s.await(o, "it stalls", func() bool { return conditions.Of(o, meta.StalledCondition).Reason == "IncludeCycle" })
	}
	s.change(c, func() { c.Spec.Include = nil })
	for _, o := range []*sourcev1.GitRepository{c, b, a} {
		s.awaitRevision(o, "main@sha1:"+upstream.Head(t))
	}
}

func TestCopiesStayInTheirTree(t *testing.T) {
	outside := t.TempDir()
	for sentence, test := range map[string]struct {
		from, to map[string]string
		fromPath string
		toPath   string
		want     map[string]string
		fails    bool
	}{
		"dots do not lead out": {from: map[string]string{"a": "1"}, fromPath: "../..", toPath: "../../x", want: map[string]string{"x/a": "1"}},
		"a file":               {from: map[string]string{"d/a": "1"}, fromPath: "d/a", toPath: "b", want: map[string]string{"b": "1"}},
		"over what is there":   {from: map[string]string{"a": "new"}, to: map[string]string{"x/a": "old", "x/b": "b"}, toPath: "x", want: map[string]string{"x/a": "new", "x/b": "b"}},
		"a link in the way of a file gives way": {from: map[string]string{"a": "1"}, to: map[string]string{"x/a": "-> " + filepath.Join(outside, "file")}, toPath: "x",
			want: map[string]string{"x/a": "1"}},
		"a link in the way of a directory is not followed out": {from: map[string]string{"a": "1"}, to: map[string]string{"x": "-> " + outside}, toPath: "x", fails: true},
		"a link is copied as a link":                           {from: map[string]string{"a": "1", "l": "-> a"}, toPath: "x", want: map[string]string{"x/a": "1", "x/l": "-> a"}},
		"a path that is not there":                             {from: map[string]string{"a": "1"}, fromPath: "nowhere", fails: true},
		"a path through a link that leads out":                 {from: map[string]string{"l": "-> " + outside}, fromPath: "l/x", fails: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			from, to := t.TempDir(), t.TempDir()
			if err := place(from, test.from); err != nil {
				t.Fatal(err)
			}
			if err := place(to, test.to); err != nil {
				t.Fatal(err)
			}
			err := copyTree(t.Context(), from, test.fromPath, to, test.toPath)
			if (err != nil) != test.fails {
				t.Fatal(err)
			}
			if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
				t.Fatal("something was written outside", left, err)
			}
			if test.fails {
				return
			}
			if diff := cmp.Diff(test.want, files(t, to)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// files reads a tree in the notation of place.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(full string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimPrefix(full, dir+"/")
		if d.Type()&os.ModeSymlink != 0 {
			target, err := os.Readlink(full)
			out[name] = "-> " + target
			return err
		}
		content, err := os.ReadFile(full)
		out[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
