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
	"maps"
	"net/url"
	"slices"

	fluxgit "github.com/fluxcd/pkg/git"
	"golang.org/x/crypto/ssh"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// remote is a git server. Its methods end with their context.
type remote interface {
	// list returns all references.
	list(ctx context.Context) (*advert, error)
	// upload requests a pack with the message that ask returns. Its argument is given, the result of
	// an earlier list, or a newer one if the protocol begins with a list.
	upload(ctx context.Context, given *advert, ask func(*advert) ([]byte, error)) (io.ReadCloser, error)
	// receive pushes with the message that ask returns. Its argument is a new list, as the server
	// shows it to those who push. The result is the server's report.
	receive(ctx context.Context, ask func(*advert) ([]byte, error)) (io.ReadCloser, error)
}

// The services of a git server.
const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
)

// endpoint is a valid upstream.
type endpoint struct {
	url   *url.URL
	auth  *fluxgit.AuthOptions
	proxy *url.URL
}

// failed makes a failure of the configuration for the source's status.
func (e *endpoint) failed(format string, args ...any) error {
	return upstream.Failed(ReasonAuthentication, nil, "connect to %s: %s", show(e.url.String()), fmt.Sprintf(format, args...))
}

// parse checks an upstream as far as possible without connecting.
func parse(up Upstream) (*endpoint, error) {
	u, err := url.Parse(up.URL)
	if err != nil || u.Path == "" && u.Scheme != "file" && u.Host == "" {
		return nil, upstream.Stalled(ReasonURL, nil, "the URL of the repository is invalid; expected https://host/path, ssh://git@host/path or file:///path")
	}
	switch u.Scheme {
	case "http", "https", "ssh":
		if u.Host == "" {
			return nil, upstream.Stalled(ReasonURL, nil, "the URL %s does not have a host", show(up.URL))
		}
	case "file":
		if u.Host != "" || u.Path == "" || u.Path[0] != '/' {
			return nil, upstream.Stalled(ReasonURL, nil, "the URL %s does not have an absolute path; expected file:///path", show(up.URL))
		}
		return &endpoint{url: u}, nil
	default:
		return nil, upstream.Stalled(ReasonURL, nil, "the URL %s does not begin with https://, http://, ssh:// or file://", show(up.URL))
	}
	auth, err := credentials(*u, up)
	if err != nil {
		return nil, err
	}
	return &endpoint{url: u, auth: auth, proxy: up.Proxy}, nil
}

// credentials reads a Secret like Flux, and refuses credentials that cannot work.
func credentials(u url.URL, up Upstream) (*fluxgit.AuthOptions, error) {
	fail := func(format string, args ...any) error {
		return upstream.Failed(ReasonAuthentication, nil, "credentials for %s: %s", show(up.URL), fmt.Sprintf(format, args...))
	}
	if len(up.Secret["githubAppID"]) > 0 {
		return nil, upstream.Failed(ReasonProvider, nil, "credentials for %s: the Secret is for a GitHub app, but provider is not github", show(up.URL))
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

// key returns the name of an upstream's mirror. It does not allow guessing the credentials.
func key(up Upstream, salt []byte) string {
	mac := hmac.New(sha256.New, salt)
	add := func(text string) { fmt.Fprintf(mac, "%d:%s", len(text), text) }
	add(up.URL)
	for _, name := range slices.Sorted(maps.Keys(up.Secret)) {
		add(name)
		add(string(up.Secret[name]))
	}
	if up.Proxy != nil {
		add(up.Proxy.String())
	}
	return hex.EncodeToString(mac.Sum(nil)[:20])
}
