// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"syscall"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/kit/brief"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// show is a URL as it may be shown. Over ssh a user is no secret; elsewhere it may be a token.
func show(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "ssh" || u.User == nil {
		return outbound.Show(text)
	}
	return "ssh://" + u.User.Username() + "@" + u.Host + u.EscapedPath()
}

// explain turns an error into the message for a source's status. It does not pass on texts of
// libraries: they quote foreign data.
func explain(action string, up Upstream, err error) error {
	var done *archive.FetchError
	if err == nil || errors.As(err, &done) {
		return err
	}
	reason, text, stalled := classify(err)
	return &archive.FetchError{Reason: reason, Message: fmt.Sprintf("%s %s: %s", action, show(up.URL), text), Stalled: stalled, Err: err}
}

func classify(err error) (reason, text string, stalled bool) {
	var (
		ref     *refError
		status  *statusError
		hostKey *hostKeyError
		said    *saidError
		line    *pktline.ErrorLine
		tree    *treeError
		path    *fs.PathError
		crash   *panicError
	)
	switch {
	case errors.As(err, &ref):
		return ReasonOperation, strings.ReplaceAll(err.Error(), "\n", "; "), ref.wrong
	case errors.Is(err, errGoesOn):
		return ReasonOperation, errGoesOn.Error(), false
	case errors.Is(err, errEmpty):
		return ReasonEmpty, "the repository is empty: nothing has been pushed to it yet", false
	case errors.Is(err, errNoAccess):
		return ReasonAuthentication, "the server requires credentials; name a Secret with username and password, or bearerToken, in secretRef", false
	case errors.Is(err, errDenied):
		return ReasonAuthentication, "the server refuses the credentials; check the Secret, and what its user or token may read", false
	case errors.As(err, &hostKey):
		return ReasonAuthentication, hostKey.Error() + "; either known_hosts is out of date, or somebody else answers", false
	case keyRefused(err):
		return ReasonAuthentication, "the server refuses the key; add its public half to the repository's or a user's keys", false
	case handshakeRefused(err):
		return ReasonAuthentication, "the server ended the TLS handshake, perhaps because it requires a client certificate: tls.crt and tls.key in the Secret", false
	case errors.Is(err, errNotFound):
		return ReasonOperation, errNotFound.Error(), false
	case errors.As(err, &status):
		return ReasonOperation, status.Error(), false
	case errors.Is(err, errRefused):
		text = "the server does not give out the commit"
		if errors.As(err, &line) {
			text += fmt.Sprintf(" (it says %q)", printable(line.Text))
		}
		return ReasonOperation, text + "; if a branch or tag has just moved, the next reconciliation finds its new commit", false
	case errors.Is(err, errTooBig), errors.Is(err, errSHA256), errors.Is(err, errNotGit), errors.Is(err, errRedirect), errors.Is(err, errOutside), errors.Is(err, errNoDirs), errors.Is(err, errSilent):
		return ReasonOperation, first(err), errors.Is(err, errSHA256) || errors.Is(err, errNoDirs)
	case errors.As(err, &tree):
		return ReasonOperation, tree.Error(), false
	case errors.Is(err, context.DeadlineExceeded):
		return ReasonOperation, "it took longer than the source's timeout allows", false
	case errors.Is(err, context.Canceled):
		return ReasonOperation, "it was cancelled", false
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ReasonOperation, "there is no space left on the server's disk", false
	case errors.As(err, &line):
		return ReasonOperation, fmt.Sprintf("the server says %q", printable(line.Text)), false
	case errors.As(err, &said):
		return ReasonOperation, fmt.Sprintf("the server says %q", printable(said.text)), false
	case errors.As(err, &crash):
		return ReasonOperation, "its response could not be read. This is a bug in Yuba", false
	case isDamage(err):
		return ReasonOperation, "its response is incomplete or damaged", false
	case errors.As(err, &path):
		return ReasonOperation, fmt.Sprintf("the server's own files cannot be used: %v", path.Err), false
	}
	return ReasonOperation, outbound.Explain(err), false
}

// keyRefused tells whether no key was taken. The library has no type for it.
func keyRefused(err error) bool { return strings.Contains(err.Error(), "ssh: unable to authenticate") }

// handshakeRefused tells whether the other side sent an alert; its type is not exported.
func handshakeRefused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// first is what the outermost of our own errors says, without what libraries said below it.
func first(err error) string {
	for _, one := range []error{errSHA256, errRedirect, errOutside, errNoDirs, errSilent} {
		if errors.Is(err, one) {
			return one.Error()
		}
	}
	text := err.Error()
	if errors.Is(err, errNotGit) {
		return errNotGit.Error()
	}
	return printable(text)
}

// printable bounds foreign text and leaves nothing in it that moves a cursor.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "?"))
	return strings.TrimSpace(brief.CutBytes(text, 300))
}
