// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// TestCommits requests commits that no reference names, from servers that allow it and others.
func TestCommits(t *testing.T) {
	server := gittest.New(t, gittest.SSH())
	key := map[string][]byte{"identity": server.Authorize(t), "known_hosts": server.KnownHosts()}
	for name, c := range map[string]struct {
		any string
		ssh bool
	}{
		"over HTTP, any commit":                   {"true", false},
		"over HTTP, only what references lead to": {"false", false},
		"over ssh, any commit":                    {"true", true},
		"over ssh, only what references name":     {"false", true},
	} {
		t.Run(name, func(t *testing.T) {
			repository := "any-" + c.any
			if c.ssh {
				repository += "-ssh"
			}
			r := server.Repository(t, repository)
			old := r.Commit(t, "first", gittest.Files{"main.tf": "old"})
			r.Git(t, "tag", "--annotate", "--message", "release", "v1.0.0")
			middle := r.Commit(t, "second", gittest.Files{"main.tf": "middle"})
			r.Commit(t, "third", gittest.Files{"main.tf": "new"})
			r.Switch(t, "side")
			side := r.Commit(t, "fourth", gittest.Files{"main.tf": "side"})
			r.Commit(t, "fifth", gittest.Files{"main.tf": "side, too"})
			r.Git(t, "-C", r.Path(), "config", "uploadpack.allowAnySHA1InWant", c.any)
			up := Upstream{URL: r.URL()}
			if c.ssh {
				up = Upstream{URL: server.SSHURL(repository), Secret: key}
			}
			m := open(t, Options{})
			for _, want := range []struct {
				ref            Ref
				revision, file string
			}{
				{Ref{Branch: "main"}, "", "new"},
				{Ref{Commit: middle}, "sha1:" + middle, "middle"},
				{Ref{Commit: middle, Branch: "main"}, "main@sha1:" + middle, "middle"},
				{Ref{Commit: side}, "sha1:" + side, "side"},
				{Ref{Tag: "v1.0.0"}, "v1.0.0@sha1:" + old, "old"},
				{Ref{Commit: old, Name: "refs/heads/main"}, "refs/heads/main@sha1:" + old, "old"},
			} {
				found := look(t, m, up, Want{Ref: want.ref})
				if want.revision != "" && found.Revision != want.revision {
					t.Errorf("the revision of %+v is %s, want %s", want.ref, found.Revision, want.revision)
				}
				if got := fetched(t, found)["main.tf"]; got != want.file {
					t.Errorf("the file of %+v is %q, want %q", want.ref, got, want.file)
				}
			}
			// Later commits are fetched in the same way.
			r.Commit(t, "sixth", gittest.Files{"main.tf": "later"})
			later := r.Head(t)
			r.Commit(t, "seventh", gittest.Files{"main.tf": "last"})
			if got := fetched(t, look(t, m, up, Want{Ref: Ref{Commit: later}}))["main.tf"]; got != "later" {
				t.Errorf("the file is %q", got)
			}
			nowhere := look(t, m, up, Want{Ref: Ref{Commit: hash("c").String()}})
			wantFailure(t, nowhere.Fetch(patient(t), t.TempDir()), ReasonOperation, "commit")
			tree := look(t, m, up, Want{Ref: Ref{Commit: r.Git(t, "rev-parse", "HEAD^{tree}")}})
			wantFailure(t, tree.Fetch(patient(t), t.TempDir()), ReasonOperation)
		})
	}
}

func TestPullRequestsAndNames(t *testing.T) {
	server := gittest.New(t)
	r := commitTo(t, server)
	r.Git(t, "push", "--quiet", "origin", "HEAD:refs/pull/1/head")
	m := open(t, Options{})
	found := look(t, m, Upstream{URL: r.URL()}, Want{Ref: Ref{Name: "refs/pull/1/head"}})
	if want := "refs/pull/1/head@sha1:" + r.Head(t); found.Revision != want {
		t.Errorf("the revision is %s, want %s", found.Revision, want)
	}
	wantOne(t, found)
	r.Git(t, "push", "--quiet", "origin", r.Git(t, "rev-parse", "HEAD:main.tf")+":refs/tags/file")
	wantFailure(t, look(t, m, Upstream{URL: r.URL()}, Want{Ref: Ref{Tag: "file"}}).Fetch(patient(t), t.TempDir()), ReasonOperation, "not a commit")
}

// TestVersionsOfTheSameRank checks that the youngest commit wins if only the build metadata differ.
func TestVersionsOfTheSameRank(t *testing.T) {
	server := gittest.New(t)
	r := server.Repository(t, "central")
	commit := func(date, tag string) string {
		t.Helper()
		r.Git(t, "-c", "alias.at=!f() { GIT_COMMITTER_DATE=\"$1\" git commit --quiet --allow-empty --message \"$1\"; }; f", "at", date)
		r.Git(t, "tag", tag)
		r.Push(t)
		return r.Head(t)
	}
	commit("2020-01-02T00:00:00Z", "v1.0.0+b")
	youngest := commit("2020-01-03T00:00:00Z", "v1.0.0+a")
	commit("2020-01-01T00:00:00Z", "v1.0.0+c")
	commit("2020-01-09T00:00:00Z", "v0.9.0")
	found := look(t, open(t, Options{}), Upstream{URL: r.URL()}, Want{Ref: Ref{SemVer: ">=0.9.0"}})
	if want := "v1.0.0+a@sha1:" + youngest; found.Revision != want {
		t.Errorf("the revision is %s, want %s", found.Revision, want)
	}
}

// TestBranchesThatMoveMeanwhile checks that a commit that disappears between look and fetch is an
// error, and that the next look is a new one.
func TestBranchesThatMoveMeanwhile(t *testing.T) {
	server := gittest.New(t)
	r := server.Repository(t, "central")
	first := r.Commit(t, "first", gittest.Files{"main.tf": "one"})
	r.Commit(t, "second", gittest.Files{"main.tf": "gone"})
	r.Git(t, "-C", r.Path(), "config", "uploadpack.allowAnySHA1InWant", "false")
	m := open(t, Options{})
	up, want := Upstream{URL: r.URL()}, Want{Ref: Ref{Branch: "main"}, MaxAge: 1 << 60}
	found := look(t, m, up, want)
	r.Rewind(t, first)
	r.Commit(t, "instead", gittest.Files{"main.tf": "instead"})
	wantFailure(t, found.Fetch(patient(t), t.TempDir()), ReasonOperation, "does not give out the commit")
	if got := server.Counts("central"); got.Fetches != 0 {
		t.Errorf("the requests are %+v, want no fetch, in particular none with the whole history", got)
	}
	if got := fetched(t, look(t, m, up, want)); got["main.tf"] != "instead" {
		t.Errorf("the tree is %v", got)
	}
}

// TestServersThatCannotLeaveOutHistory changes a letter in the server's capabilities.
func TestServersThatCannotLeaveOutHistory(t *testing.T) {
	server := gittest.New(t)
	r := commitTo(t, server)
	behind, err := url.Parse(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL.Scheme, p.Out.URL.Host = "http", behind.Host },
		ModifyResponse: func(response *http.Response) error {
			said, err := io.ReadAll(response.Body)
			if strings.HasSuffix(response.Request.URL.Path, "/info/refs") {
				said = bytes.ReplaceAll(said, []byte(" shallow "), []byte(" hollow. "))
			}
			response.Body = io.NopCloser(bytes.NewReader(said))
			return err
		},
	})
	defer front.Close()
	m := open(t, Options{})
	up := Upstream{URL: front.URL + behind.Path}
	wantOne(t, look(t, m, up, main))
	r.Commit(t, "second", gittest.Files{"x": "y"})
	wantOne(t, look(t, m, up, main))
	if got := server.Counts("central"); got.Fetches != 2 || got.Clones != 1 {
		t.Errorf("the requests are %+v, want a clone and a fetch", got)
	}
}
