// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

func hash(digit string) plumbing.Hash { return plumbing.NewHash(strings.Repeat(digit, 40)) }

func TestResolve(t *testing.T) {
	given := &advert{
		refs: map[string]plumbing.Hash{
			"HEAD": hash("1"), "refs/heads/main": hash("1"), "refs/heads/master": hash("2"), "refs/heads/feature/x": hash("3"),
			"refs/tags/v1.0.0": hash("4"), "refs/tags/v1.1.0": hash("a"), "refs/tags/2.0.0-rc.1": hash("6"), "refs/tags/latest": hash("4"),
			"refs/tags/v3.0.0+one": hash("7"), "refs/tags/v3.0.0+two": hash("8"), "refs/tags/v01.9": hash("9"),
			"refs/pull/1/head": hash("b"),
		},
		peeled: map[string]plumbing.Hash{"refs/tags/v1.1.0": hash("5")},
		caps:   capability.NewList(),
	}
	cases := map[string]struct {
		ref  Ref
		want string // revisions, or a part of the error
		fail bool
	}{
		"without anything: the branch master":                   {Ref{}, "master@sha1:2", false},
		"a branch":                                              {Ref{Branch: "main"}, "main@sha1:1", false},
		"a branch with a slash":                                 {Ref{Branch: "feature/x"}, "feature/x@sha1:3", false},
		"a branch that is not there":                            {Ref{Branch: "gone"}, `there is no branch "gone"`, true},
		"a lightweight tag":                                     {Ref{Tag: "v1.0.0"}, "v1.0.0@sha1:4", false},
		"an annotated tag: the commit behind it":                {Ref{Tag: "v1.1.0"}, "v1.1.0@sha1:5", false},
		"a tag goes before a branch and a range":                {Ref{Tag: "latest", Branch: "main", SemVer: "1.x"}, "latest@sha1:4", false},
		"a tag that is not there":                               {Ref{Tag: "v9"}, `there is no tag "v9"`, true},
		"a range: the highest version":                          {Ref{SemVer: "1.x"}, "v1.1.0@sha1:5", false},
		"a range goes before a branch":                          {Ref{SemVer: "~1.0", Branch: "main"}, "v1.0.0@sha1:4", false},
		"a range has no version before its release":             {Ref{SemVer: ">=1.0.0 <3.0.0"}, "v1.1.0@sha1:5", false},
		"a range that asks for versions before their release":   {Ref{SemVer: ">=1.0.0-0 <3.0.0-0"}, "2.0.0-rc.1@sha1:6", false},
		"versions that differ in what follows the plus: both":   {Ref{SemVer: "3.x"}, "v3.0.0+one@sha1:7 v3.0.0+two@sha1:8", false},
		"a range that nothing meets":                            {Ref{SemVer: ">=4"}, `none of its 7 tags is a version in the range ">=4"`, true},
		"what is no range":                                      {Ref{SemVer: "newest"}, `"newest" is not a version range`, true},
		"the name of a branch stands in the revision as it is":  {Ref{Name: "refs/heads/main"}, "refs/heads/main@sha1:1", false},
		"the name of a tag: the commit behind it":               {Ref{Name: "refs/tags/v1.1.0"}, "refs/tags/v1.1.0@sha1:5", false},
		"the name of a tag, peeled":                             {Ref{Name: "refs/tags/v1.1.0^{}"}, "refs/tags/v1.1.0^{}@sha1:5", false},
		"the name of a pull request goes before tag and branch": {Ref{Name: "refs/pull/1/head", Tag: "latest", Branch: "main"}, "refs/pull/1/head@sha1:b", false},
		"a name that is not there":                              {Ref{Name: "main"}, `there is no reference "main"`, true},
		"a name with a slash at its end":                        {Ref{Name: "refs/heads/"}, "begins or ends with a slash", true},
		"a commit goes before everything":                       {Ref{Commit: strings.Repeat("c", 40), Tag: "latest", SemVer: "1.x"}, "sha1:c", false},
		"a commit of a branch":                                  {Ref{Commit: strings.Repeat("c", 40), Branch: "main"}, "main@sha1:c", false},
		"a commit with a name":                                  {Ref{Commit: strings.Repeat("c", 40), Name: "refs/heads/main"}, "refs/heads/main@sha1:c", false},
		"a commit of a branch that is not there":                {Ref{Commit: strings.Repeat("c", 40), Branch: "gone"}, `there is no branch "gone"`, true},
		"a commit that is abbreviated":                          {Ref{Commit: "cccccc"}, "is not a commit", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			targets, err := resolve(given, c.ref)
			if c.fail {
				var missing *upstream.Problem
				if !errors.As(err, &missing) || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("the error is %v, want one with %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range targets {
				revision := one.revision()
				got = append(got, revision[:len(revision)-39])
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("revision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSubmoduleOf(t *testing.T) {
	secret := map[string][]byte{"username": []byte("reader")}
	cases := map[string]struct{ parent, at, url string }{
		"relative":                               {"https://h/org/app.git", "../lib.git", "https://h/org/lib.git+secret"},
		"relative, twice up":                     {"https://h/org/app.git", "../../other/lib", "https://h/other/lib+secret"},
		"relative beyond the host's root":        {"https://h/app.git", "../../../x", "https://h/x+secret"},
		"on the same host":                       {"https://h/org/app.git", "https://h/lib", "https://h/lib+secret"},
		"on another host: no credentials":        {"https://h/org/app.git", "https://other/lib", "https://other/lib"},
		"on another port: no credentials":        {"https://h/org/app.git", "https://h:8443/lib", "https://h:8443/lib"},
		"not encrypted: no credentials":          {"https://h/org/app.git", "http://h/lib", "http://h/lib"},
		"as ssh writes it":                       {"ssh://git@h/org/app", "git@h:org/lib.git", "ssh://git@h/org/lib.git+secret"},
		"as ssh writes it, on another host":      {"ssh://git@h/org/app", "git@o:org/lib.git", "ssh://git@o/org/lib.git"},
		"a user of the parent's":                 {"ssh://me@h/org/app", "ssh://h/lib", "ssh://me@h/lib+secret"},
		"relative on the disk":                   {"file:///srv/app", "../lib", "file:///srv/lib+secret"},
		"from the disk, where the parent is not": {"https://h/app", "file:///etc", "server's disk"},
		"a path":                                 {"https://h/app", "/etc/passwd", "neither absolute nor relative"},
		"what is no URL":                         {"https://h/app", "https://h:x/", "cannot be used"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			up, err := submoduleOf(Upstream{URL: c.parent, Secret: secret}, c.at)
			got := up.URL
			if up.Secret != nil {
				got += "+secret"
			}
			if err != nil {
				if got = err.Error(); strings.Contains(got, c.url) {
					got = c.url
				}
			}
			if got != c.url {
				t.Errorf("the URL is %q, want %q", got, c.url)
			}
		})
	}
}
