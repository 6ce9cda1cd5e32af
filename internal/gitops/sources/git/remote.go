// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sort"

	fluxgit "github.com/fluxcd/pkg/git"
	"golang.org/x/crypto/ssh"

	"github.com/yuba-dev/yuba/internal/archive"
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

// remote is the other end: a server that speaks git's protocol. Its methods end with their context.
type remote interface {
	// list asks for all references.
	list(ctx context.Context) (*advert, error)
	// upload asks for a pack. Given is what a list said before; remotes that say it again use that.
	upload(ctx context.Context, given *advert, ask func(*advert) ([]byte, error)) (io.ReadCloser, error)
}

// endpoint is an upstream that was found acceptable.
type endpoint struct {
	url   *url.URL
	auth  *fluxgit.AuthOptions
	proxy *url.URL
}

// parse checks what can be checked without asking anybody.
func parse(up Upstream) (*endpoint, error) {
	u, err := url.Parse(up.URL)
	if err != nil || u.Path == "" && u.Scheme != "file" && u.Host == "" {
		return nil, invalid("the URL of the repository is invalid; expected https://host/path, ssh://git@host/path or file:///path")
	}
	switch u.Scheme {
	case "http", "https", "ssh":
		if u.Host == "" {
			return nil, invalid("the URL %s does not have a host", show(up.URL))
		}
	case "file":
		if u.Host != "" || u.Path == "" || u.Path[0] != '/' {
			return nil, invalid("the URL %s does not have an absolute path; expected file:///path", show(up.URL))
		}
		return &endpoint{url: u}, nil
	default:
		return nil, invalid("the URL %s does not begin with https://, http://, ssh:// or file://", show(up.URL))
	}
	auth, err := credentials(*u, up)
	if err != nil {
		return nil, err
	}
	return &endpoint{url: u, auth: auth, proxy: up.Proxy}, nil
}

func invalid(format string, args ...any) error {
	return &archive.FetchError{Reason: ReasonURL, Message: fmt.Sprintf(format, args...), Stalled: true}
}

// credentials reads a Secret as Flux does and refuses what could not work.
func credentials(u url.URL, up Upstream) (*fluxgit.AuthOptions, error) {
	fail := func(format string, args ...any) error {
		return &archive.FetchError{Reason: ReasonAuthentication, Message: fmt.Sprintf("credentials for %s: ", show(up.URL)) + fmt.Sprintf(format, args...)}
	}
	if len(up.Secret["githubAppID"]) > 0 {
		return nil, &archive.FetchError{Reason: ReasonProvider, Message: fmt.Sprintf("credentials for %s: the Secret is for a GitHub app, but provider is not github", show(up.URL))}
	}
	if u.Scheme == "ssh" {
		switch {
		case len(up.Secret["identity"]) == 0:
			return nil, fail("the Secret lacks identity, the private key, which ssh:// requires")
		case len(up.Secret["known_hosts"]) == 0:
			return nil, fail("the Secret lacks known_hosts, which identifies the server; add the output of:\n    ssh-keyscan %s", u.Hostname())
		}
	}
	auth, err := fluxgit.NewAuthOptions(u, up.Secret)
	if err != nil {
		return nil, fail("%v", err)
	}
	if u.Scheme == "ssh" {
		if _, err := signer(auth); err != nil {
			var locked *ssh.PassphraseMissingError
			if errors.As(err, &locked) {
				return nil, fail("the private key (identity) is encrypted, but the Secret has no password for it")
			}
			return nil, fail("the private key (identity) cannot be read; is it in the format of OpenSSH or PEM, and the password the right one?")
		}
		return auth, nil
	}
	if auth.BearerToken != "" && (auth.Username != "" || auth.Password != "") {
		return nil, fail("the Secret has both a bearerToken and a username; use only one of them")
	}
	return auth, nil
}

func signer(auth *fluxgit.AuthOptions) (ssh.Signer, error) {
	if auth.Password != "" {
		return ssh.ParsePrivateKeyWithPassphrase(auth.Identity, []byte(auth.Password))
	}
	return ssh.ParsePrivateKey(auth.Identity)
}

// key is the name of an upstream's mirror. It tells nothing of the credentials, not even to who
// tries to guess them.
func key(up Upstream, salt []byte) string {
	mac := hmac.New(sha256.New, salt)
	add := func(text string) { fmt.Fprintf(mac, "%d:%s", len(text), text) }
	add(up.URL)
	names := make([]string, 0, len(up.Secret))
	for name := range up.Secret {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		add(name)
		add(string(up.Secret[name]))
	}
	if up.Proxy != nil {
		add(up.Proxy.String())
	}
	return hex.EncodeToString(mac.Sum(nil)[:20])
}
