// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fluxcd/pkg/git/signature"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// Reasons of failed verification, as Flux has them.
const (
	// ReasonVerification: the keys cannot be used.
	ReasonVerification = "VerificationError"
	// ReasonVerificationMode: the reference is not a tag, whose signature is required.
	ReasonVerificationMode = "InvalidVerificationMode"
	// ReasonNotSigned: the tag is not signed.
	ReasonNotSigned = "InvalidGitObject"
	// ReasonTagSignature: the tag's signature is not by one of the keys.
	ReasonTagSignature = "InvalidTagSignature"
	// ReasonCommitSignature: the commit's signature is missing or not by one of the keys.
	ReasonCommitSignature = "InvalidCommitSignature"
)

// signed is an object, split into the signed data and the signature.
type signed struct{ payload, signature []byte }

// verify checks the required signatures, and returns what is signed with which key.
func (m *mirror) verify(ctx context.Context, t target, v Verify) (string, error) {
	tag, head := v.Mode == "Tag" || v.Mode == "TagAndHEAD", v.Mode == "HEAD" || v.Mode == "head" || v.Mode == "TagAndHEAD"
	switch {
	case !tag && !head:
		return "", upstream.Stalled(ReasonVerificationMode, nil, "the mode %q of verify is unknown; it is HEAD, Tag or TagAndHEAD", v.Mode)
	case tag && t.tag == "":
		return "", upstream.Stalled(ReasonVerificationMode, nil, "verify requires a tag's signature, but ref does not lead to a tag; use mode HEAD, or name a tag in ref")
	case tag && t.want == t.commit:
		return "", upstream.Failed(ReasonNotSigned, nil, "tag %s is not signed: it is a lightweight tag; sign it with git tag --sign", t.tag)
	}
	var tagObject, commitObject signed
	err := m.with(ctx, t, func(o *objects) error {
		if tag {
			_, content, err := o.read(t.want, maxText)
			if err != nil {
				return err
			}
			tagObject = splitTag(content)
			if at, err := o.peel(t.want); err != nil || at != t.commit {
				return errors.Join(err, wrongRef("tag %s does not lead to the commit that its server says", t.tag))
			}
		}
		_, content, err := o.read(t.commit, maxText)
		if err == nil {
			commitObject, err = splitCommit(content)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	var said []string
	if tag {
		what := fmt.Sprintf("tag %s (%s)", t.tag, t.want)
		if len(tagObject.signature) == 0 {
			return "", upstream.Failed(ReasonNotSigned, nil, "%s is not signed; sign it with git tag --sign", what)
		}
		by, err := tagObject.check(v.Keys)
		if err != nil {
			return "", upstream.Failed(ReasonTagSignature, err, "the signature of %s is not accepted: %s", what, why(err))
		}
		said = append(said, fmt.Sprintf("%s is signed with key %s", what, by))
	}
	if head {
		what := fmt.Sprintf("commit %s", t.commit)
		by, err := commitObject.check(v.Keys)
		if err != nil {
			return "", upstream.Failed(ReasonCommitSignature, err, "the signature of %s is not accepted: %s", what, why(err))
		}
		said = append(said, fmt.Sprintf("%s is signed with key %s", what, by))
	}
	return strings.Join(said, "; "), nil
}

var (
	errUnsigned   = &upstream.Problem{Text: "it has none"}
	errForeignSig = &upstream.Problem{Text: "it is neither a PGP nor an SSH signature"}
	errNoKeys     = &upstream.Problem{Text: "the Secret of verify does not have a suitable key: PGP keyrings in *.asc, SSH public keys in *.sshpub"}
)

// check returns the key that signed.
func (s signed) check(keys map[string][]byte) (string, error) {
	var rings, authorized []string
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		// Flux treats all other entries as keyrings.
		if strings.HasSuffix(name, ".sshpub") {
			authorized = append(authorized, string(keys[name]))
		} else {
			rings = append(rings, string(keys[name]))
		}
	}
	text := string(s.signature)
	switch {
	case len(s.signature) == 0:
		return "", errUnsigned
	case signature.IsPGPSignature(text) && len(rings) > 0:
		return signature.VerifyPGPSignature(text, s.payload, rings...)
	case signature.IsSSHSignature(text) && len(authorized) > 0:
		return signature.VerifySSHSignature(text, s.payload, authorized...)
	case signature.IsPGPSignature(text) || signature.IsSSHSignature(text):
		return "", errNoKeys
	}
	return "", errForeignSig
}

// why explains an error of check.
func why(err error) string {
	var problem *upstream.Problem
	switch {
	case errors.As(err, &problem):
		return problem.Text
	case errors.Is(err, signature.ErrNoMatchingKey):
		return "it was not made with a key in the Secret of verify, or the signed data was changed"
	}
	return "the keys in the Secret of verify, or the signature, cannot be read"
}

// splitCommit extracts the signature from a commit's headers. The signed data is the exact rest.
func splitCommit(content []byte) (signed, error) {
	var payload, found bytes.Buffer
	inHeader, inSignature, kept := true, false, false
	for line := range bytes.Lines(content) {
		text := string(line)
		switch {
		case !inHeader:
			payload.Write(line)
			continue
		case text == "\n":
			inHeader = false
		case inSignature && strings.HasPrefix(text, " "):
			if kept {
				found.WriteString(text[1:])
			}
			continue
		case strings.HasPrefix(text, "gpgsig ") || strings.HasPrefix(text, "gpgsig-sha256 "):
			first, is := strings.CutPrefix(text, "gpgsig ")
			if is && found.Len() > 0 {
				return signed{}, inTree("commit", "it has two signatures")
			}
			if inSignature, kept = true, is; is {
				found.WriteString(first)
			}
			continue
		}
		inSignature = false
		payload.Write(line)
	}
	return signed{payload.Bytes(), found.Bytes()}, nil
}

// splitTag splits a tag before its signature. Like git, it uses the last line that may begin one.
func splitTag(content []byte) signed {
	cut, at := len(content), 0
	for line := range bytes.Lines(content) {
		for _, begin := range []string{"-----BEGIN PGP SIGNATURE-----", "-----BEGIN SSH SIGNATURE-----", "-----BEGIN SIGNED MESSAGE-----"} {
			if bytes.HasPrefix(line, []byte(begin)) {
				cut = at
			}
		}
		at += len(line)
	}
	return signed{content[:cut], content[cut:]}
}

// committed returns the time of a commit.
func committed(content []byte) (time.Time, error) {
	committer := header(content, "committer")
	at, _, _ := strings.Cut(strings.TrimSpace(committer[strings.LastIndex(committer, ">")+1:]), " ")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: a commit lacks its time", errNotGit)
	}
	return time.Unix(seconds, 0), nil
}
