// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// replacer replaces a word in files.
type replacer struct {
	old, new string
	tooBig   []string
	before   func()
}

func (r *replacer) File(_ string, content []byte) ([]byte, bool) {
	if r.before != nil {
		r.before()
	}
	edited := bytes.ReplaceAll(content, []byte(r.old), []byte(r.new))
	return edited, !bytes.Equal(edited, content)
}

func (r *replacer) TooBig(path string, size int64) {
	r.tooBig = append(r.tooBig, fmt.Sprintf("%s: %d", path, size))
}

func (r *replacer) Message() (string, error) { return "replace " + r.old + "\n", nil }

// replacing is an edit of YAML files of the branch main.
func replacing(r *replacer, change ...func(*Edit)) Edit {
	e := Edit{From: Ref{Branch: "main"}, Branch: "main", MaxFile: 1 << 20, Wanted: func(path string) bool { return strings.HasSuffix(path, ".yaml") },
		Author: Author{Name: "Yuba <bot>", Email: "yuba@example.com", When: time.Unix(1700000000, 0)}, Begin: func() Editor { return r }}
	for _, c := range change {
		c(&e)
	}
	return e
}

// served runs git in the bare repository.
func served(t *testing.T, r *gittest.Repository, args ...string) string {
	t.Helper()
	return r.Git(t, append([]string{"--git-dir", r.Path()}, args...)...)
}

func TestEditsArePushed(t *testing.T) {
	server := gittest.New(t, gittest.Writable(), gittest.SSH(), gittest.BasicAuth("bot", "s3cret"))
	key := server.Authorize(t)
	for name, up := range map[string]func(r string) Upstream{
		"http": func(r string) Upstream {
			return Upstream{URL: server.URL(r), Secret: map[string][]byte{"username": []byte("bot"), "password": []byte("s3cret")}}
		},
		"ssh": func(r string) Upstream {
			return Upstream{URL: server.SSHURL(r), Secret: map[string][]byte{"identity": key, "known_hosts": server.KnownHosts()}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := server.Repository(t, name)
			r.Commit(t, "first", gittest.Files{"apps/a/app.yaml": "tag: 1.0.0\r\n", "apps/b/app.yaml": "tag: 1.0.0\n", "other/app.yaml": "tag: 1.0.0\n", "apps/readme.md": "1.0.0\n"})
			if err := os.Symlink("/etc/passwd", filepath.Join(r.Tree(), "apps", "passwd.yaml")); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(r.Tree(), "apps", "b", "app.yaml"), 0o755); err != nil {
				t.Fatal(err)
			}
			second := r.Commit(t, "second", nil)
			var news []string
			m := open(t, Options{News: func(upstream string) { news = append(news, upstream) }})
			within := func(e *Edit) { e.Path = "./apps" }
			done, err := m.Edit(patient(t), up(name), replacing(&replacer{old: "1.0.0", new: "1.1.0"}, within))
			if err != nil {
				t.Fatal(err)
			}
			if done.BaseCommit != second || done.Commit == "" || done.Revision != "main@sha1:"+done.Commit || served(t, r, "rev-parse", "main") != done.Commit {
				t.Errorf("%+v", done)
			}
			want := "apps/a/app.yaml | 2 +-\n apps/b/app.yaml | 2 +-\n 2 files changed, 2 insertions(+), 2 deletions(-)"
			if diff := cmp.Diff(want, served(t, r, "show", "--stat", "--format=", "main")); diff != "" {
				t.Error(diff)
			}
			if got := served(t, r, "log", "-1", "--format=%an|%ae|%cn|%at|%s|%P", "main"); got != "Yuba bot|yuba@example.com|Yuba bot|1700000000|replace 1.0.0|"+second {
				t.Error(got)
			}
			if got := served(t, r, "ls-tree", "-r", "main", "apps/b/app.yaml", "apps/passwd.yaml"); !strings.HasPrefix(got, "100755") || !strings.Contains(got, "120000") {
				t.Error(got)
			}
			served(t, r, "fsck", "--strict")
			if len(news) != 1 {
				t.Errorf("others were told %d times", len(news))
			}
			again, err := m.Edit(patient(t), up(name), replacing(&replacer{old: "1.0.0", new: "1.1.0"}, within))
			if err != nil || again.Commit != "" || again.BaseCommit != done.Commit {
				t.Errorf("%+v, %v", again, err)
			}
		})
	}
}

func TestTheCommitsOfOthersAreKept(t *testing.T) {
	server := gittest.New(t, gittest.Writable())
	r := server.Repository(t, "busy")
	r.Commit(t, "first", gittest.Files{"app.yaml": "tag: 1.0.0\n"})
	m, races := open(t, Options{}), 0
	editor := &replacer{old: "1.0.0", new: "1.1.0"}
	editor.before = func() {
		if races++; races <= 2 {
			r.Commit(t, "theirs", gittest.Files{fmt.Sprintf("file%d.yaml", races): "x\n"})
		}
	}
	done, err := m.Edit(patient(t), Upstream{URL: r.URL()}, replacing(editor))
	if err != nil {
		t.Fatal(err)
	}
	if got := served(t, r, "log", "--format=%s", "main"); got != "replace 1.0.0\n\ntheirs\ntheirs\nfirst" && got != "replace 1.0.0\ntheirs\ntheirs\nfirst" {
		t.Error(got)
	}
	// Somebody who always pushes wins, and loses nothing.
	r.Git(t, "fetch", "--quiet", "origin", "main")
	r.Rewind(t, done.Commit)
	always := &replacer{old: "1.1.0", new: "1.2.0"}
	always.before = func() { r.Commit(t, "theirs", nil) }
	_, err = m.Edit(patient(t), Upstream{URL: r.URL()}, replacing(always))
	wantFailure(t, err, ReasonOperation, "others pushed")
}

func TestSeveralEditorsOfOneBranch(t *testing.T) {
	server := gittest.New(t, gittest.Writable())
	r := server.Repository(t, "many")
	files := gittest.Files{}
	for i := range 5 {
		files[fmt.Sprintf("app%d.yaml", i)] = fmt.Sprintf("tag: v%d\n", i)
	}
	r.Commit(t, "first", files)
	m := open(t, Options{})
	var wait sync.WaitGroup
	for i := range 5 {
		wait.Go(func() {
			if _, err := m.Edit(patient(t), Upstream{URL: r.URL()}, replacing(&replacer{old: fmt.Sprintf("v%d", i), new: "new"})); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got := served(t, r, "grep", "-c", "new", "main"); strings.Count(got, ":1") != 5 {
		t.Error(got)
	}
}

func TestAnotherBranch(t *testing.T) {
	server := gittest.New(t, gittest.Writable())
	r := server.Repository(t, "branches")
	first := r.Commit(t, "first", gittest.Files{"app.yaml": "tag: 1.0.0\n"})
	m, up := open(t, Options{}), Upstream{URL: r.URL()}
	onto := func(e *Edit) { e.Branch, e.To = "updates", "refs/for/main" }
	done, err := m.Edit(patient(t), up, replacing(&replacer{old: "1.0.0", new: "1.1.0"}, onto))
	if err != nil {
		t.Fatal(err)
	}
	if served(t, r, "rev-parse", "main") != first || served(t, r, "rev-parse", "updates", "refs/for/main") != done.Commit+"\n"+done.Commit {
		t.Errorf("%+v", done)
	}
	if diff := cmp.Diff([]string{"refs/heads/updates", "refs/for/main"}, done.Pushed); diff != "" {
		t.Error(diff)
	}
	// The next commit follows on the branch that is not merged yet.
	alone := func(e *Edit) { e.Branch = "updates" }
	next, err := m.Edit(patient(t), up, replacing(&replacer{old: "1.1.0", new: "1.2.0"}, alone))
	if err != nil || next.BaseCommit != done.Commit {
		t.Fatalf("%+v, %v", next, err)
	}
	// Once it is merged, the branch begins at main again.
	r.Git(t, "fetch", "--quiet", "origin", "updates")
	r.Git(t, "merge", "--quiet", "--no-ff", "-m", "merge", next.Commit)
	merged := r.Commit(t, "another", gittest.Files{"other.yaml": "x\n"})
	last, err := m.Edit(patient(t), up, replacing(&replacer{old: "1.2.0", new: "1.3.0"}, alone))
	if err != nil || last.BaseCommit != merged || served(t, r, "rev-parse", "updates") != last.Commit {
		t.Fatalf("%+v, %v", last, err)
	}
	// A reference with commits of others is not overwritten.
	r.Git(t, "push", "--quiet", "origin", first+":refs/heads/side")
	r.Git(t, "switch", "--quiet", "--orphan", "side")
	r.Git(t, "commit", "--quiet", "--allow-empty", "--message", "theirs")
	r.Git(t, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/side")
	_, err = m.Edit(patient(t), up, replacing(&replacer{old: "1.2.0", new: "1.3.0"}, func(e *Edit) { e.To = "refs/heads/side" }))
	wantFailure(t, err, ReasonOperation, "refs/heads/side has commits", "a push would remove them")
}

func TestRefusedPushes(t *testing.T) {
	hook := func(t *testing.T, r *gittest.Repository, script string) {
		if err := os.WriteFile(filepath.Join(r.Path(), "hooks", "pre-receive"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	server := gittest.New(t, gittest.Writable(), gittest.SSH())
	key := server.Authorize(t)
	r := server.Repository(t, "protected")
	first := r.Commit(t, "first", gittest.Files{"app.yaml": "tag: 1.0.0\n"})
	m, editor := open(t, Options{}), func() *replacer { return &replacer{old: "1.0.0", new: "1.1.0"} }
	for _, up := range []Upstream{{URL: r.URL()}, {URL: server.SSHURL("protected"), Secret: map[string][]byte{"identity": key, "known_hosts": server.KnownHosts()}}} {
		hook(t, r, "echo 'GH006: Protected branch update failed' >&2; exit 1\n")
		_, err := m.Edit(patient(t), up, replacing(editor()))
		wantFailure(t, err, ReasonPushRefused, "GH006: Protected branch", "push to main", "branch protection")
		hook(t, r, "exit 0\n")
		_, err = m.Edit(patient(t), up, replacing(editor(), func(e *Edit) { e.From.Branch, e.Branch = "gone", "gone" }))
		wantFailure(t, err, ReasonOperation, `there is no branch "gone"`)
		_, err = m.Edit(patient(t), up, replacing(editor(), func(e *Edit) { e.Branch = "a..b" }))
		wantFailure(t, err, ReasonOperation, "not a valid name")
		_, err = m.Edit(patient(t), up, replacing(editor(), func(e *Edit) { e.Path = "../nowhere" }))
		wantFailure(t, err, ReasonOperation, `there is no directory "nowhere"`)
	}
	readers := gittest.New(t, gittest.SSH())
	reader := readers.Authorize(t)
	read := readers.Repository(t, "readable")
	read.Commit(t, "first", gittest.Files{"app.yaml": "tag: 1.0.0\n"})
	for _, up := range []Upstream{{URL: read.URL()}, {URL: readers.SSHURL("readable"), Secret: map[string][]byte{"identity": reader, "known_hosts": readers.KnownHosts()}}} {
		_, err := m.Edit(patient(t), up, replacing(editor()))
		wantFailure(t, err, ReasonPushRefused, "Give them the right to write")
	}
	local := open(t, Options{FileDirs: []string{filepath.Dir(r.Path())}})
	_, err := local.Edit(patient(t), Upstream{URL: "file://" + r.Path()}, replacing(editor()))
	wantFailure(t, err, ReasonOperation, "only read")
	if served(t, r, "rev-parse", "main") != first {
		t.Error("something was pushed")
	}
}

func TestSignedCommitsSkippedFilesAndOptions(t *testing.T) {
	server := gittest.New(t, gittest.Writable())
	r := server.Repository(t, "signed")
	r.Commit(t, "first", gittest.Files{"app.yaml": "tag: 1.0.0\n", "big.yaml": "tag: 1.0.0\n" + strings.Repeat("#", 2<<20)})
	m, up, editor := open(t, Options{}), Upstream{URL: r.URL()}, &replacer{old: "1.0.0", new: "1.1.0"}
	signer, public, _ := pgpKey(t, "yuba")
	sign := func(e *Edit) {
		e.Options = map[string]string{"merge_request.create": "true"}
		e.Sign = func(payload []byte) (string, error) {
			signature, err := signer.Sign(bytes.NewReader(payload))
			return string(signature), err
		}
	}
	done, err := m.Edit(patient(t), up, replacing(editor, sign))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"big.yaml: 2097163"}, editor.tooBig); diff != "" {
		t.Error(diff)
	}
	found := look(t, m, up, Want{Ref: Ref{Commit: done.Commit}, Verify: &Verify{Mode: "HEAD", Keys: map[string][]byte{"a.asc": public}}})
	if !strings.Contains(found.Verified, "is signed with key") {
		t.Error(found.Verified)
	}
	seen, err := m.Edit(patient(t), up, replacing(editor, func(e *Edit) { e.Seen = done.Commit }))
	if err != nil || !seen.Unread {
		t.Errorf("%+v, %v", seen, err)
	}
	_, err = m.Edit(patient(t), up, replacing(&replacer{old: "1.1.0", new: "1.2.0"}, func(e *Edit) {
		e.Sign = func([]byte) (string, error) { return "", errors.New("s3cret") }
	}))
	wantFailure(t, err, ReasonOperation, "could not be signed")
}
