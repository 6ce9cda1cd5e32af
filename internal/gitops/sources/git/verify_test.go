// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/fluxcd/pkg/git/signature"
	"golang.org/x/crypto/ssh"

	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// pgpKey creates a key, and returns its signer, its public part, and its name.
func pgpKey(t *testing.T, name string) (signature.Signer, []byte, string) {
	t.Helper()
	entity, err := openpgp.NewEntity(name, "", name+"@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	var public bytes.Buffer
	w, err := armor.Encode(&public, openpgp.PublicKeyType, nil)
	if err == nil {
		err = entity.Serialize(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	signer, err := signature.NewOpenPGPSigner(entity)
	if err != nil {
		t.Fatal(err)
	}
	return signer, public.Bytes(), entity.PrimaryKey.KeyIdString()
}

// object writes an object unchanged, and returns its hash.
func object(t *testing.T, r *gittest.Repository, kind, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "object")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return r.Git(t, "hash-object", "-w", "--literally", "-t", kind, file)
}

func sign(t *testing.T, by signature.Signer, payload string) string {
	t.Helper()
	signed, err := by.Sign(strings.NewReader(payload))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(signed), "\n")
}

// signCommit signs the current commit, and returns the hash of the signed one.
func signCommit(t *testing.T, r *gittest.Repository, by signature.Signer) string {
	t.Helper()
	payload := r.Git(t, "cat-file", "commit", "HEAD") + "\n"
	header, message, _ := strings.Cut(payload, "\n\n")
	signed := header + "\ngpgsig " + strings.ReplaceAll(sign(t, by, payload), "\n", "\n ") + "\n\n" + message
	return object(t, r, "commit", signed)
}

// signTag creates a tag for a commit, without a signature if the signer is empty.
func signTag(t *testing.T, r *gittest.Repository, name, commit string, by signature.Signer) {
	t.Helper()
	payload := fmt.Sprintf("object %s\ntype commit\ntag %s\ntagger Test <test@example.com> 1700000000 +0000\n\nrelease\n", commit, name)
	if by != nil {
		payload += sign(t, by, payload) + "\n"
	}
	publish(t, r, object(t, r, "tag", payload), "refs/tags/"+name)
}

func publish(t *testing.T, r *gittest.Repository, object, ref string) {
	t.Helper()
	r.Git(t, "push", "--quiet", "--force", "origin", object+":"+ref)
}

func TestVerify(t *testing.T) {
	server := gittest.New(t)
	r := commitTo(t, server)
	pgp, ring, id := pgpKey(t, "author")
	other, otherRing, otherID := pgpKey(t, "other")
	public, private := edKey(t)
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	sshSigner, err := signature.NewSSHSigner([]byte(pemOf(block)), nil)
	if err != nil {
		t.Fatal(err)
	}
	fingerprint, authorized := ssh.FingerprintSHA256(public), ssh.MarshalAuthorizedKey(public)

	unsigned, signed, bySSH := r.Head(t), signCommit(t, r, pgp), signCommit(t, r, sshSigner)
	changed := object(t, r, "commit", strings.Replace(r.Git(t, "cat-file", "commit", signed)+"\n", "\n\nfirst", "\n\nworst", 1))
	twice := object(t, r, "commit", strings.Replace(r.Git(t, "cat-file", "commit", signed)+"\n", "\n\nfirst", "\ngpgsig x\n\nfirst", 1))
	for name, commit := range map[string]string{"unsigned": unsigned, "signed": signed, "ssh": bySSH, "changed": changed, "twice": twice} {
		publish(t, r, commit, "refs/heads/"+name)
	}
	signTag(t, r, "v1.0.0", signed, pgp)
	signTag(t, r, "v1.1.0", signed, other)
	signTag(t, r, "v1.2.0", bySSH, sshSigner)
	signTag(t, r, "v1.3.0", unsigned, pgp)
	signTag(t, r, "v1.4.0", signed, nil)
	publish(t, r, signed, "refs/tags/light")

	m := open(t, Options{})
	pgpKeys := map[string][]byte{"a.asc": otherRing, "b.asc": ring}
	cases := map[string]struct {
		ref    Ref
		mode   string
		keys   map[string][]byte
		reason string // empty when it is fine
		words  []string
	}{
		"a signed commit":                           {Ref{Branch: "signed"}, "HEAD", pgpKeys, "", []string{"commit " + signed, id}},
		"a signed commit, as it was written once":   {Ref{Branch: "signed"}, "head", map[string][]byte{"author": ring}, "", []string{id}},
		"signed by SSH":                             {Ref{Branch: "ssh"}, "HEAD", map[string][]byte{"me.sshpub": authorized}, "", []string{fingerprint}},
		"a signed tag":                              {Ref{Tag: "v1.0.0"}, "Tag", pgpKeys, "", []string{"tag v1.0.0", id}},
		"a signed tag by its full name":             {Ref{Name: "refs/tags/v1.0.0"}, "Tag", pgpKeys, "", []string{"tag v1.0.0", id}},
		"a signed tag, commit and all":              {Ref{SemVer: "1.1.x"}, "TagAndHEAD", pgpKeys, "", []string{"tag v1.1.0", otherID, "commit " + signed, id}},
		"all by SSH":                                {Ref{Tag: "v1.2.0"}, "TagAndHEAD", map[string][]byte{"me.sshpub": authorized}, "", []string{fingerprint}},
		"not signed":                                {Ref{Branch: "unsigned"}, "HEAD", pgpKeys, ReasonCommitSignature, []string{"it has none"}},
		"not signed, by a tag that is":              {Ref{Tag: "v1.3.0"}, "TagAndHEAD", pgpKeys, ReasonCommitSignature, []string{"it has none"}},
		"changed after it was signed":               {Ref{Branch: "changed"}, "HEAD", pgpKeys, ReasonCommitSignature, []string{"not made with a key"}},
		"signed by somebody else":                   {Ref{Branch: "signed"}, "HEAD", map[string][]byte{"a.asc": otherRing}, ReasonCommitSignature, []string{"not made with a key"}},
		"signed twice":                              {Ref{Branch: "twice"}, "HEAD", pgpKeys, ReasonOperation, []string{"two signatures"}},
		"signed by SSH, and only keyrings":          {Ref{Branch: "ssh"}, "HEAD", pgpKeys, ReasonCommitSignature, []string{"*.sshpub"}},
		"keys that are none":                        {Ref{Branch: "signed"}, "HEAD", map[string][]byte{"a.asc": []byte("s3cret")}, ReasonCommitSignature, []string{"cannot be read"}},
		"no keys":                                   {Ref{Branch: "signed"}, "HEAD", nil, ReasonCommitSignature, []string{"not have a suitable key"}},
		"a tag by somebody else":                    {Ref{Tag: "v1.1.0"}, "Tag", map[string][]byte{"b.asc": ring}, ReasonTagSignature, []string{"not made with a key"}},
		"a tag that is not signed":                  {Ref{Tag: "v1.4.0"}, "Tag", pgpKeys, ReasonNotSigned, []string{"git tag --sign"}},
		"a tag that cannot be signed":               {Ref{Tag: "light"}, "Tag", pgpKeys, ReasonNotSigned, []string{"lightweight"}},
		"a tag's signature, and a branch":           {Ref{Branch: "signed"}, "Tag", pgpKeys, ReasonVerificationMode, []string{"ref does not lead to a tag"}},
		"a tag's signature, and a commit by itself": {Ref{Commit: signed}, "TagAndHEAD", pgpKeys, ReasonVerificationMode, nil},
		"a mode that nobody knows":                  {Ref{Branch: "signed"}, "Branch", pgpKeys, ReasonVerificationMode, []string{`"Branch"`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found, err := m.Look(patient(t), Upstream{URL: r.URL()}, Want{Ref: c.ref, Verify: &Verify{Mode: c.mode, Keys: c.keys}})
			if c.reason != "" {
				if failure := wantFailure(t, err, c.reason, c.words...); failure.Stalled != (c.reason == ReasonVerificationMode) {
					t.Errorf("stalled is %t", failure.Stalled)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range c.words {
				if !strings.Contains(found.Verified, word) {
					t.Errorf("the result %q does not contain %q", found.Verified, word)
				}
			}
			wantOne(t, found)
		})
	}
}

// TestVerifyWhatGitSigns uses signatures of git, with all headers that it writes.
func TestVerifyWhatGitSigns(t *testing.T) {
	server := gittest.New(t)
	r := commitTo(t, server)
	public, private := edKey(t)
	key := filepath.Join(t.TempDir(), "key")
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, []byte(pemOf(block)), 0o600); err != nil {
		t.Fatal(err)
	}
	sign := []string{"-c", "gpg.format=ssh", "-c", "user.signingkey=" + key}
	r.Switch(t, "side")
	r.Git(t, append(sign, "-c", "i18n.commitEncoding=ISO-8859-1", "commit", "--quiet", "--allow-empty", "-S", "-m", "side")...)
	r.Git(t, append(sign, "tag", "--sign", "-m", "inner\n\n-----BEGIN PGP SIGNATURE-----\n\nno signature", "inner")...)
	r.Push(t)
	r.Switch(t, "main")
	r.Git(t, append(sign, "merge", "--quiet", "--no-ff", "-S", "-m", "merge", "inner")...)
	r.Git(t, append(sign, "tag", "--sign", "-m", "release", "v1.0.0")...)
	r.Push(t)
	keys := map[string][]byte{"k.sshpub": ssh.MarshalAuthorizedKey(public)}
	m := open(t, Options{})
	for _, ref := range []Ref{{Tag: "inner"}, {Tag: "v1.0.0"}} {
		found := look(t, m, Upstream{URL: r.URL()}, Want{Ref: ref, Verify: &Verify{Mode: "TagAndHEAD", Keys: keys}})
		if strings.Count(found.Verified, ssh.FingerprintSHA256(public)) != 2 {
			t.Errorf("%+v: the result is %q", ref, found.Verified)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("tree 0000000000000000000000000000000000000000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nmessage\n"))
	f.Add([]byte("object 0000000000000000000000000000000000000000\ntype commit\n\nm\n-----BEGIN SSH SIGNATURE-----\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		tag := splitTag(content)
		if !bytes.Equal(append(bytes.Clone(tag.payload), tag.signature...), content) {
			t.Error("a part of a tag is missing")
		}
		commit, err := splitCommit(content)
		if err == nil && len(commit.payload)+len(commit.signature) > len(content) {
			t.Error("a commit has an additional part")
		}
		if _, err := headerHash(content, "tree"); err == nil && !bytes.Contains(content, []byte("tree ")) {
			t.Error("the hash is not in the commit")
		}
	})
}
