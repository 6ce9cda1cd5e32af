// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
)

// repository is a GitRepository of github.com/acme/infra with a revision.
func repository(name string, change func(*sourcev1.GitRepositorySpec)) sourcev1.GitRepository {
	r := sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "flux", Name: name}}
	r.Spec.URL, r.Spec.Reference = "https://github.com/acme/infra", &sourcev1.GitRepositoryRef{Branch: "main"}
	r.Status.Artifact = &meta.Artifact{Revision: "main@sha1:0123456789012345678901234567890123456789"}
	if change != nil {
		change(&r.Spec)
	}
	return r
}

func stack(name, source string) infrav1.Terraform {
	t := infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
	t.Spec.Path = "./" + name
	t.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Namespace: "flux", Name: source}
	return t
}

func TestTheBranchOfAGitRepository(t *testing.T) {
	for sentence, c := range map[string]struct {
		ref           *sourcev1.GitRepositoryRef
		branch, other string
	}{
		"none is master":            {nil, "master", ""},
		"an empty one is master":    {&sourcev1.GitRepositoryRef{}, "master", ""},
		"a branch":                  {&sourcev1.GitRepositoryRef{Branch: "live"}, "live", ""},
		"a tag wins over a branch":  {&sourcev1.GitRepositoryRef{Branch: "live", Tag: "v1"}, "", "the tag v1"},
		"a range wins over a tag":   {&sourcev1.GitRepositoryRef{Tag: "v1", SemVer: ">1"}, "", "the newest tag of >1"},
		"a reference to a branch":   {&sourcev1.GitRepositoryRef{Name: "refs/heads/x/y"}, "x/y", ""},
		"a reference to a request":  {&sourcev1.GitRepositoryRef{Name: "refs/pull/7/head"}, "", "refs/pull/7/head"},
		"a commit wins over others": {&sourcev1.GitRepositoryRef{Branch: "live", Commit: "abc"}, "", "the commit abc"},
	} {
		r := repository("infra", func(s *sourcev1.GitRepositorySpec) { s.Reference = c.ref })
		if branch, other := branchOf(&r); branch != c.branch || other != c.other {
			t.Errorf("%s: %q %q", sentence, branch, other)
		}
	}
}

func TestTheTarget(t *testing.T) {
	of := func(branches ...string) (list []*sourcev1.GitRepository) {
		for _, b := range branches {
			r := repository(b, func(s *sourcev1.GitRepositorySpec) { s.Reference.Branch = b })
			list = append(list, &r)
		}
		return list
	}
	for sentence, c := range map[string]struct {
		wanted, current, byDefault string
		list                       []*sourcev1.GitRepository
		want, problem              string
	}{
		"the wanted one, whatever else":           {"prod", "main", "main", of("main"), "prod", ""},
		"the current one, if it is followed":      {"", "dev", "main", of("main", "dev"), "dev", ""},
		"else the default":                        {"", "feature", "main", of("main", "dev"), "main", ""},
		"else the only one":                       {"", "feature", "", of("live", "live"), "live", ""},
		"else somebody has to say it":             {"", "feature", "trunk", of("b", "a"), "", "several branches of this repository: a, b."},
		"none if only tags and commits are there": {"", "feature", "", []*sourcev1.GitRepository{}, "", ""},
	} {
		got, err := chooseTarget(c.wanted, c.current, c.byDefault, c.list)
		if got != c.want || (err != nil) != (c.problem != "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %q, %v", sentence, got, err)
		}
	}
}

func TestWhatFollowsIsPlannedOrListed(t *testing.T) {
	all := []sourcev1.GitRepository{
		repository("infra", nil),
		repository("ssh", func(s *sourcev1.GitRepositorySpec) { s.URL = "ssh://git@github.com/acme/infra.git" }),
		repository("prod", func(s *sourcev1.GitRepositorySpec) { s.Reference.Branch = "prod" }),
		repository("tagged", func(s *sourcev1.GitRepositorySpec) { s.Reference.Tag = "v1" }),
		repository("including", func(s *sourcev1.GitRepositorySpec) {
			s.Include = []sourcev1.GitRepositoryInclude{{GitRepositoryRef: meta.LocalObjectReference{Name: "other"}}}
		}),
		repository("modules", func(s *sourcev1.GitRepositorySpec) { s.RecurseSubmodules = true }),
		repository("new", nil),
		repository("idle", func(s *sourcev1.GitRepositorySpec) { s.Reference.Branch = "prod" }),
		repository("other", func(s *sourcev1.GitRepositorySpec) { s.URL = "https://github.com/acme/other" }),
		repository("overlay", func(s *sourcev1.GitRepositorySpec) {
			s.URL = "https://github.com/acme/third"
			s.Include = []sourcev1.GitRepositoryInclude{{GitRepositoryRef: meta.LocalObjectReference{Name: "infra"}}}
		}),
	}
	all[6].Status.Artifact = nil
	inline := stack("inline", "infra")
	inline.Spec.Inline = map[string]string{"main.tf": ""}
	pushed := stack("pushed", "infra")
	pushed.Spec.SourceRef.Kind = "ExternalArtifact"
	with := stack("values", "ssh")
	with.Spec.TfVarsFiles = []string{"./envs/prod.tfvars"}
	stacks := []infrav1.Terraform{stack("b", "infra"), stack("a", "infra"), with, stack("p", "prod"), stack("t", "tagged"), stack("i", "including"),
		stack("m", "modules"), stack("n", "new"), stack("o", "other"), stack("x", "overlay"), inline, pushed, {}}
	list, skips := follow("main", ofClone([]string{"github.com/acme/infra"}, all), all, stacks)
	got := map[string][]discover.Stack{}
	for _, f := range list {
		got[f.repository.Name] = f.stacks
		if f.commit != "0123456789012345678901234567890123456789" {
			t.Errorf("commit %q", f.commit)
		}
	}
	if diff := cmp.Diff(map[string][]discover.Stack{
		"infra": {{Name: "team/b", Path: "./b"}, {Name: "team/a", Path: "./a"}},
		"ssh":   {{Name: "team/values", Path: "./values", Also: []string{"/envs/prod.tfvars"}}},
	}, got); diff != "" {
		t.Errorf("planned: %s", diff)
	}
	if diff := cmp.Diff([]skipped{
		{"flux/prod", "it follows the branch prod", []string{"team/p"}, true},
		{"flux/tagged", "it follows the tag v1, which a merge does not change", []string{"team/t"}, true},
		{"flux/including", "it includes other repositories (spec.include)", []string{"team/i"}, false},
		{"flux/modules", "it has submodules (spec.recurseSubmodules)", []string{"team/m"}, false},
		{"flux/new", "it has no revision yet", []string{"team/n"}, false},
		{"flux/overlay", "it includes this repository in another one (spec.include)", []string{"team/x"}, false},
	}, skips); diff != "" {
		t.Errorf("not planned: %s", diff)
	}
}

func TestKustomizationsOfTheChange(t *testing.T) {
	of := func(name, source, path string) kustomizev1.Kustomization {
		k := kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: "flux", Name: name}}
		k.Spec.SourceRef, k.Spec.Path = kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: source}, path
		return k
	}
	r := repository("infra", nil)
	got := kustomizationsOf(&r, []kustomizev1.Kustomization{of("apps", "infra", "./apps"), of("all", "infra", ""), of("app", "infra", "app"), of("foreign", "other", "")},
		[]string{"apps/a.yaml", "apple/b.yaml"})
	if !slices.Equal(got, []string{"flux/apps", "flux/all"}) {
		t.Errorf("%q", got)
	}
}

func TestTheRootOfASource(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "envs", "prod"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ in, spec, want string }{
		{".", "", "."}, {".", "./", "."}, {".", "./envs/prod", "."}, {"envs/prod", "./envs/prod", ""}, {"envs/prod", "envs/prod/", ""}, {"envs", "prod", "envs"}, {"envs", "../prod", "envs"},
	} {
		want := filepath.Join(dir, c.want)
		if got, err := rootOf(filepath.Join(dir, c.in), c.spec); err != nil || got != want {
			t.Errorf("%s, %s: %s, %v", c.in, c.spec, got, err)
		}
	}
	for _, c := range []struct{ in, spec string }{{"envs", "network"}, {"nowhere", ""}, {"envs/prod", "od"}} {
		if got, err := rootOf(filepath.Join(dir, c.in), c.spec); err == nil {
			t.Errorf("%s, %s: %s", c.in, c.spec, got)
		}
	}
}

func TestProgramsOfTemplatesCountAsAWhole(t *testing.T) {
	stacks := []discover.Stack{{Name: "a", Path: "./x"}, {Name: "b", Path: "y"}, {Name: "c"}}
	wholeIfTemplated(stacks, discover.Tree{Sums: map[string]string{"x/main.tf.tpl": "1", "y/other.tf.tpl": "1"}}, discover.Tree{Sums: map[string]string{"main.tf.tpl": "1"}})
	if stacks[0].Rendered == nil || stacks[1].Rendered != nil || stacks[2].Rendered == nil {
		t.Errorf("%+v", stacks)
	}
}
