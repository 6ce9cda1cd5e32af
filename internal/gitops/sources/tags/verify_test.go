// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// author signs commits and tags as git does with gpg.
type author struct {
	t      *testing.T
	entity *openpgp.Entity
}

func newAuthor(t *testing.T, name string) author {
	t.Helper()
	entity, err := openpgp.NewEntity(name, "", name+"@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	return author{t, entity}
}

// public is the armored public key.
func (a author) public() string {
	a.t.Helper()
	var out bytes.Buffer
	w, err := armor.Encode(&out, openpgp.PublicKeyType, nil)
	if err == nil {
		err = a.entity.Serialize(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return out.String()
}

func (a author) sign(payload string) string {
	a.t.Helper()
	var out bytes.Buffer
	if err := openpgp.ArmoredDetachSign(&out, a.entity, strings.NewReader(payload), nil); err != nil {
		a.t.Fatal(err)
	}
	return out.String()
}

// object writes an object as it is, and returns its hash.
func object(t *testing.T, r *gittest.Repository, kind, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "object")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return r.Git(t, "hash-object", "-w", "-t", kind, file)
}

// commit signs the current commit, and returns the hash of the signed one.
func (a author) commit(r *gittest.Repository) string {
	a.t.Helper()
	payload := r.Git(a.t, "cat-file", "commit", "HEAD") + "\n"
	header, message, _ := strings.Cut(payload, "\n\n")
	signature := strings.TrimSuffix(a.sign(payload), "\n")
	return object(a.t, r, "commit", header+"\ngpgsig "+strings.ReplaceAll(signature, "\n", "\n ")+"\n\n"+message)
}

// tag pushes a signed tag of a commit.
func (a author) tag(r *gittest.Repository, name, commit string) {
	a.t.Helper()
	payload := fmt.Sprintf("object %s\ntype commit\ntag %s\ntagger Test <test@example.com> 1700000000 +0000\n\nrelease\n", commit, name)
	push(a.t, r, object(a.t, r, "tag", payload+a.sign(payload)), name)
}

func push(t *testing.T, r *gittest.Repository, object, tag string) {
	t.Helper()
	r.Git(t, "push", "--quiet", "--force", "origin", object+":refs/tags/"+tag)
}

func TestSignaturesAreRequired(t *testing.T) {
	s, server := newSite(t), gittest.New(t)
	release, stranger := newAuthor(t, "release"), newAuthor(t, "stranger")
	repo := server.Repository(t, "vpc")
	repo.Commit(t, "first", module("", "cidr"))
	unsigned, signed, foreign := repo.Head(t), release.commit(repo), stranger.commit(repo)
	release.tag(repo, "v1.0.0", signed)
	release.tag(repo, "v1.1.0", unsigned)
	release.tag(repo, "v1.2.0", foreign)
	stranger.tag(repo, "v1.3.0", signed)
	push(t, repo, object(t, repo, "tag", fmt.Sprintf("object %s\ntype commit\ntag v1.4.0\ntagger Test <test@example.com> 1700000000 +0000\n\nrelease\n", signed)), "v1.4.0")
	push(t, repo, signed, "v1.5.0")

	verify := func(mode string) func(*yubav1.ModuleSource) {
		return func(o *yubav1.ModuleSource) {
			o.Spec.Verification = &yubav1.ModuleSourceVerification{Mode: mode, SecretRef: meta.LocalObjectReference{Name: "keys"}}
		}
	}
	tagged := s.source(repo.URL(), []string{"tag/aws"}, verify("Tag"))
	if message := s.failed(tagged, sourcev1.VerificationError); !strings.Contains(message, s.namespace+"/keys does not exist") {
		t.Error(message)
	}
	if got := s.versions("tag/aws"); got != "" {
		t.Errorf("published without keys: %s", got)
	}
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "keys"}, StringData: map[string]string{"release.asc": release.public()}}
	s.create(keys)
	const no = "NotVerified"
	for _, c := range []struct {
		o                         *yubav1.ModuleSource
		module, published, reject string
		words                     []string // of the refusals, the highest version first
	}{
		{tagged, "tag/aws", "1.2.0@v1.2.0 1.1.0@v1.1.0 1.0.0@v1.0.0", "v1.5.0: " + no + ", v1.4.0: " + no + ", v1.3.0: " + no,
			[]string{"lightweight", "git tag --sign", "not made with a key"}},
		{s.source(repo.URL(), []string{"head/aws"}, verify("HEAD")), "head/aws", "1.5.0@v1.5.0 1.4.0@v1.4.0 1.3.0@v1.3.0 1.0.0@v1.0.0", "v1.2.0: " + no + ", v1.1.0: " + no,
			[]string{"not made with a key", "it has none"}},
		{s.source(repo.URL(), []string{"both/aws"}, verify("TagAndHEAD")), "both/aws", "1.0.0@v1.0.0",
			"v1.5.0: " + no + ", v1.4.0: " + no + ", v1.3.0: " + no + ", v1.2.0: " + no + ", v1.1.0: " + no, nil},
	} {
		s.ready(c.o, "refused")
		if got := s.versions(c.module); got != c.published {
			t.Errorf("%s: published %s, want %s", c.module, got, c.published)
		}
		if got := refused(c.o); got != c.reject {
			t.Errorf("%s: refused %s, want %s", c.module, got, c.reject)
		}
		for i, words := range c.words {
			if got := c.o.Status.RefusedTags[i].Message; !strings.Contains(got, words) {
				t.Errorf("%s: the refusal %q does not say %q", c.module, got, words)
			}
		}
	}
	// Another key is noticed without being asked, and what was refused is tried again. Published versions stay.
	s.change(keys, func() { keys.Data["stranger.asc"] = []byte(stranger.public()) })
	s.await(tagged, "the stranger's tag is published", func() bool { return tagged.Status.Published == 4 })
	if got := s.versions("tag/aws"); got != "1.3.0@v1.3.0 1.2.0@v1.2.0 1.1.0@v1.1.0 1.0.0@v1.0.0" {
		t.Error(got)
	}
}
