// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gittest_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"

	"github.com/google/go-cmp/cmp"
)

// git runs a client that knows nothing of the person who runs the tests.
func git(t *testing.T, dir string, env []string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = dir
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_TERMINAL_PROMPT=0"}, env...)
	out, err := command.CombinedOutput()
	return string(out), err
}

func must(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	out, err := git(t, dir, env, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func TestServerCountsWhatClientsAskFor(t *testing.T) {
	for _, version := range []string{"0", "2"} {
		t.Run("protocol "+version, func(t *testing.T) {
			s := gittest.New(t)
			r := s.Repository(t, "central")
			r.Commit(t, "first", gittest.Files{"a/b.txt": "one", "gone": "soon"})
			v := []string{"-c", "protocol.version=" + version}
			must(t, t.TempDir(), nil, append(v, "ls-remote", r.URL())...)
			want := gittest.Counts{Lookups: 1}
			if diff := cmp.Diff(want, s.Counts("central")); diff != "" {
				t.Errorf("after ls-remote (-want +got):\n%s", diff)
			}
			dir := filepath.Join(t.TempDir(), "clone")
			must(t, t.TempDir(), nil, append(v, "clone", r.URL(), dir)...)
			want = gittest.Counts{Lookups: 2, Fetches: 1, Clones: 1}
			if diff := cmp.Diff(want, s.Counts("central")); diff != "" {
				t.Errorf("after clone (-want +got):\n%s", diff)
			}
			cloned := s.Fetched("central")
			head := r.Commit(t, "second", gittest.Files{"a/b.txt": "two", "gone": gittest.Absent})
			must(t, dir, nil, append(v, "pull")...)
			want = gittest.Counts{Lookups: 3, Fetches: 2, Clones: 1}
			if diff := cmp.Diff(want, s.Counts("central")); diff != "" {
				t.Errorf("after pull (-want +got):\n%s", diff)
			}
			if at := s.Fetched("central"); !at.After(cloned) {
				t.Errorf("the last fetch was over at %s, and the one before it at %s", at, cloned)
			}
			if got := strings.TrimSpace(must(t, dir, nil, "rev-parse", "HEAD")); got != head {
				t.Errorf("the clone is at %s, want %s", got, head)
			}
			if content, err := os.ReadFile(filepath.Join(dir, "a", "b.txt")); err != nil || string(content) != "two" {
				t.Errorf("the file is %q, %v", content, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "gone")); !os.IsNotExist(err) {
				t.Errorf("what was removed is there: %v", err)
			}
		})
	}
}

func TestServerAdmitsOnlyWhoKnowsTheSecret(t *testing.T) {
	s := gittest.New(t, gittest.BasicAuth("reader", "s3cret"), gittest.TLS())
	r := s.Repository(t, "private")
	r.Commit(t, "first", gittest.Files{"x": "y"})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CA(), 0o644); err != nil {
		t.Fatal(err)
	}
	trust := []string{"GIT_SSL_CAINFO=" + ca}
	if out, err := git(t, t.TempDir(), trust, "ls-remote", r.URL()); err == nil {
		t.Errorf("a stranger reads: %s", out)
	}
	if out, err := git(t, t.TempDir(), nil, "ls-remote", strings.Replace(r.URL(), "https://", "https://reader:s3cret@", 1)); err == nil {
		t.Errorf("who does not know the CA trusts it: %s", out)
	}
	must(t, t.TempDir(), trust, "ls-remote", strings.Replace(r.URL(), "https://", "https://reader:s3cret@", 1))
	bearer := gittest.New(t, gittest.BearerToken("t0ken"))
	b := bearer.Repository(t, "private")
	b.Commit(t, "first", gittest.Files{"x": "y"})
	if out, err := git(t, t.TempDir(), nil, "ls-remote", b.URL()); err == nil {
		t.Errorf("a stranger reads: %s", out)
	}
	must(t, t.TempDir(), nil, "-c", "http.extraHeader=Authorization: Bearer t0ken", "ls-remote", b.URL())
}

func TestServerSpeaksSSH(t *testing.T) {
	s := gittest.New(t, gittest.SSH())
	r := s.Repository(t, "central")
	r.Commit(t, "first", gittest.Files{"x": "y"})
	dir := t.TempDir()
	hosts, key := filepath.Join(dir, "known_hosts"), filepath.Join(dir, "key")
	if err := os.WriteFile(hosts, s.KnownHosts(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, s.Authorize(t), 0o600); err != nil {
		t.Fatal(err)
	}
	ssh := "GIT_SSH_COMMAND=ssh -F none -o BatchMode=yes -o IdentitiesOnly=yes -o UserKnownHostsFile=" + hosts
	if out, err := git(t, dir, []string{ssh + " -i /dev/null"}, "ls-remote", s.SSHURL("central")); err == nil {
		t.Errorf("a stranger reads: %s", out)
	}
	clone := filepath.Join(dir, "clone")
	must(t, dir, []string{ssh + " -i " + key}, "clone", s.SSHURL("central"), clone)
	if content, err := os.ReadFile(filepath.Join(clone, "x")); err != nil || string(content) != "y" {
		t.Errorf("the file is %q, %v", content, err)
	}
	if diff := cmp.Diff(gittest.Counts{Lookups: 1, Fetches: 1, Clones: 1}, s.Counts("central")); diff != "" {
		t.Errorf("after clone (-want +got):\n%s", diff)
	}
}

func TestServerFails(t *testing.T) {
	s := gittest.New(t)
	r := s.Repository(t, "central")
	r.Commit(t, "first", gittest.Files{"x": "y"})
	for name, fault := range map[string]faulttest.Fault{"unreachable": faulttest.Unreachable, "broken": faulttest.Answer(http.StatusBadGateway)} {
		s.SetFault(fault)
		if out, err := git(t, t.TempDir(), nil, "ls-remote", r.URL()); err == nil {
			t.Errorf("%s: it answers: %s", name, out)
		}
	}
	release := make(chan struct{})
	s.SetFault(faulttest.Stall(release))
	close(release)
	must(t, t.TempDir(), nil, "ls-remote", r.URL())
	s.SetFault(nil)
	must(t, t.TempDir(), nil, "ls-remote", r.URL())
}

func TestRepositoryRewritesItsHistory(t *testing.T) {
	s := gittest.New(t)
	r := s.Repository(t, "central")
	first := r.Commit(t, "first", gittest.Files{"x": "1"})
	r.Tag(t, "v1")
	r.Commit(t, "second", gittest.Files{"x": "2"})
	r.Rewind(t, first)
	other := r.Commit(t, "another second", gittest.Files{"x": "3"})
	r.Tag(t, "v1")
	r.Switch(t, "feature")
	feature := r.CommitTree(t, "feature", t.TempDir())
	r.Switch(t, "main")
	want := map[string]string{"refs/heads/main": other, "refs/tags/v1": other, "refs/heads/feature": feature, "HEAD": other}
	got := map[string]string{}
	for line := range strings.Lines(must(t, t.TempDir(), nil, "ls-remote", r.URL())) {
		hash, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		got[name] = hash
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
}
