// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"syscall"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Reasons of failures. The first five are Flux's.
const (
	// ReasonAuthentication: credentials are missing, incomplete or refused.
	ReasonAuthentication = "AuthenticationFailed"
	// ReasonOperation: the upstream is unavailable, responds incorrectly, or lacks the requested
	// reference.
	ReasonOperation = "GitOperationFailed"
	// ReasonURL: the URL cannot be used.
	ReasonURL = "URLInvalid"
	// ReasonEmpty: the repository has no commit.
	ReasonEmpty = "EmptyGitRepository"
	// ReasonProvider: the provider's configuration is incomplete, or not supported here.
	ReasonProvider = "InvalidProviderConfiguration"
)

var (
	errEmpty     = &upstream.Problem{Reason: ReasonEmpty, Text: "the repository is empty: nothing has been pushed to it yet"}
	errGoesOn    = &upstream.Problem{Text: "the server keeps sending, but no references"}
	errNotFound  = &upstream.Problem{Text: "the repository does not exist, or these credentials may not see it"}
	errNotGit    = &upstream.Problem{Text: "the response is not from a git server"}
	errRedirect  = &upstream.Problem{Text: "the server redirects too often, or from https to another scheme"}
	errSHA256    = &upstream.Problem{Text: "the repository uses SHA-256, which is not supported", Stalled: true}
	errSilent    = &upstream.Problem{Text: "the server stopped sending during a fetch"}
	errNoAccess  = &upstream.Problem{Reason: ReasonAuthentication, Text: "the server requires credentials; name a Secret with username and password, or bearerToken, in secretRef"}
	errDenied    = &upstream.Problem{Reason: ReasonAuthentication, Text: "the server refuses the credentials; check the Secret, and what its user or token may read"}
	errKey       = &upstream.Problem{Reason: ReasonAuthentication, Text: "the server refuses the key; add its public half to the repository's or a user's keys"}
	errHandshake = &upstream.Problem{Reason: ReasonAuthentication,
		Text: "the server ended the TLS handshake, perhaps because it requires a client certificate: tls.crt and tls.key in the Secret"}

	// errRefused and errHistory lead to another request.
	errRefused = errors.New("the server does not give out the commit")
	errHistory = errors.New("the server cannot omit history")
)

// wrongRef is a reference that leads nowhere; impossible is one that no repository can have.
func wrongRef(format string, args ...any) error {
	return &upstream.Problem{Text: fmt.Sprintf(format, args...)}
}

func impossible(format string, args ...any) error {
	return &upstream.Problem{Text: fmt.Sprintf(format, args...), Stalled: true}
}

// tooBig is an exceeded limit.
func tooBig(format string, args ...any) error {
	return &upstream.Problem{Text: "it is too big: " + printable(fmt.Sprintf(format, args...)), Content: true}
}

// inTree is a path of a tree that is not acceptable.
func inTree(path, reason string) error {
	return &upstream.Problem{Text: fmt.Sprintf("%q: %s", path, reason), Content: true}
}

// show returns a URL for messages. The user of ssh is not secret; elsewhere it may be a token.
func show(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "ssh" || u.User == nil {
		return outbound.Show(text)
	}
	return "ssh://" + u.User.Username() + "@" + u.Host + u.EscapedPath()
}

// explain makes a failure for a source's status. It does not quote libraries, which quote foreign
// data.
func explain(action string, up Upstream, err error) error {
	return upstream.Attempted(ReasonOperation, action+" "+show(up.URL), err, describe)
}

func describe(err error) string {
	var (
		said  *saidError
		line  *pktline.ErrorLine
		path  *fs.PathError
		crash *panicError
	)
	switch {
	case errors.Is(err, errRefused):
		text := errRefused.Error()
		if errors.As(err, &line) {
			text += fmt.Sprintf(" (it says %q)", printable(line.Text))
		}
		return text + "; if a branch or tag has just moved, the next reconciliation finds its new commit"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "there is no space left on the server's disk"
	case errors.As(err, &line):
		return fmt.Sprintf("the server says %q", printable(line.Text))
	case errors.As(err, &said):
		return fmt.Sprintf("the server says %q", printable(said.text))
	case errors.As(err, &crash):
		return "its response could not be read. This is a bug in Yuba"
	case isDamage(err):
		return "its response is incomplete or damaged"
	case errors.As(err, &path):
		return fmt.Sprintf("the server's own files cannot be used: %v", path.Err)
	}
	return ""
}

// printable shortens foreign text and removes everything that moves a cursor.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "?"))
	return strings.TrimSpace(shorten.CutBytes(text, 300))
}
