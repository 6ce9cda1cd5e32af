// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
)

// repository is a GitRepository that includes others: NAME, FROM, TO for each.
func repository(name string, includes ...[3]string) *sourcev1.GitRepository {
	s := &sourcev1.GitRepository{}
	s.Namespace, s.Name = "prod", name
	for _, in := range includes {
		s.Spec.Include = append(s.Spec.Include, sourcev1.GitRepositoryInclude{GitRepositoryRef: meta.LocalObjectReference{Name: in[0]}, FromPath: in[1], ToPath: in[2]})
	}
	return s
}

func TestIncluding(t *testing.T) {
	elsewhere := repository("elsewhere", [3]string{"modules"})
	elsewhere.Namespace = "stage"
	for sentence, c := range map[string]struct {
		sources []*sourcev1.GitRepository
		want    []string
	}{
		"nobody":                          {[]*sourcev1.GitRepository{repository("apps")}, nil},
		"one":                             {[]*sourcev1.GitRepository{repository("apps", [3]string{"modules"})}, []string{"apps"}},
		"another namespace":               {[]*sourcev1.GitRepository{elsewhere}, nil},
		"through another, which is first": {[]*sourcev1.GitRepository{repository("apps", [3]string{"modules"}, [3]string{"base"}), repository("base", [3]string{"modules"})}, []string{"base", "apps"}},
		"through one that is not ours":    {[]*sourcev1.GitRepository{repository("apps", [3]string{"base"})}, nil},
		"a circle":                        {[]*sourcev1.GitRepository{repository("apps", [3]string{"base"}), repository("base", [3]string{"apps"}, [3]string{"modules"}), repository("good", [3]string{"modules"})}, []string{"good"}},
		"one that includes itself":        {[]*sourcev1.GitRepository{repository("apps", [3]string{"apps"}, [3]string{"modules"})}, nil},
		"one that the source includes":    {[]*sourcev1.GitRepository{repository("modules", [3]string{"apps"}), repository("apps")}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got []string
			for _, s := range (&memory{sources: c.sources}).including(repository("modules")) {
				got = append(got, s.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChangedPathsWithinAnIncludingRepository(t *testing.T) {
	changed := map[string][]string{"modules": {"net/main.tf", "network.tf", "README.md"}, "unknown": nil}
	for sentence, c := range map[string]struct {
		including *sourcev1.GitRepository
		want      []string
	}{
		"all of it, in a directory of its name": {repository("apps", [3]string{"modules"}), []string{"modules/net/main.tf", "modules/network.tf", "modules/README.md"}},
		"a directory":                           {repository("apps", [3]string{"modules", "./net/", "vendor/net"}), []string{"vendor/net/main.tf"}},
		"one file":                              {repository("apps", [3]string{"modules", "network.tf", "x.tf"}), []string{"x.tf"}},
		"twice, to one place":                   {repository("apps", [3]string{"modules", "", "m"}, [3]string{"modules", "", "./m"}), []string{"m/net/main.tf", "m/network.tf", "m/README.md"}},
		"what does not change":                  {repository("apps", [3]string{"modules", "dns"}), []string{}},
		"others":                                {repository("apps", [3]string{"other"}), []string{}},
		"a path that climbs":                    {repository("apps", [3]string{"modules", "../net", "../../etc"}), []string{"etc/main.tf"}},
		"files that are not all known":          {repository("apps", [3]string{"modules"}, [3]string{"unknown"}), nil},
	} {
		if diff := cmp.Diff(c.want, within(c.including, changed)); diff != "" {
			t.Errorf("%s: %s", sentence, diff)
		}
	}
	many := make([]string, maxMapped+1)
	for i := range many {
		many[i] = time.Unix(int64(i), 0).String()
	}
	if got := within(repository("apps", [3]string{"modules"}), map[string][]string{"modules": many}); got != nil {
		t.Errorf("%d paths are known", len(got))
	}
}

func TestCodeOfAnIncludedRepositoryIsJudged(t *testing.T) {
	f := finding{via: "apps", before: texts(map[string]string{"s/main.tf": `module "m" { source = "../vendor/net" }`, "vendor/net/m.tf": ""})}
	f.after = texts(map[string]string{"s/main.tf": `module "m" { source = "../vendor/net" }`, "vendor/net/m.tf": `data "external" "x" {}`})
	f.head, f.planner = f.after, &yubav1.PullRequestPlanner{}
	got := f.programs([]infrav1.Terraform{{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "a"}, Spec: infrav1.TerraformSpec{Path: "s"}}})
	if len(got) != 1 || got[0].Via != "apps" || got[0].State != comment.Held || got[0].Files != discover.Sum(f.head, discover.Stack{Path: "s"}) {
		t.Errorf("found are %+v", got[0])
	}
}

func TestSameServer(t *testing.T) {
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{"https://git.example.com/acme/infra", "ssh://git@git.example.com/acme/modules.git", true},
		{"https://git.example.com/acme/infra", "https://evil.example.net/acme/modules", false},
		{"https://git.example.com/acme/infra", "http://git.example.com/acme/modules", false},
		{"https://git.example.com/acme/infra", "file:///tmp/x", false},
	} {
		if got := sameServer(c.one, c.other); got != c.same {
			t.Errorf("%s and %s: %v", c.one, c.other, got)
		}
	}
}
