// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package github

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/wire"
)

const (
	// A token of an App is valid for at most ten minutes. GitHub asks to allow for a wrong clock.
	appTokenAge = 8 * time.Minute
	appTokenLag = time.Minute
	// early renews the token of an installation, which is valid for an hour, before it ends.
	early = 5 * time.Minute
)

// app gets tokens of a GitHub App's installation. Its own requests carry a token that it signs.
type app struct {
	id     string
	key    *rsa.PrivateKey
	client *wire.Client
	repo   string
	now    func() time.Time
	// hide keeps tokens out of errors.
	hide func(token string)

	lock         sync.Mutex
	installation int64
	token        string
	expires      time.Time
}

func newApp(c forge.Config, a *forge.App, f *connection, of *wire.Client) (*app, error) {
	key, err := parseKey(a.Key)
	if err != nil {
		return nil, err
	}
	c.Now = of.Now
	client, err := wire.New(c, of.Base(), a.Key)
	if err != nil {
		return nil, err
	}
	made := &app{id: a.ID, key: key, client: client, repo: f.repo, now: of.Now, installation: a.Installation, hide: of.Hide}
	client.Where, client.Authorize, client.Scopes = of.Where, made.sign, of.Scopes
	return made, nil
}

var errKey = errors.New("the private key of the GitHub App is not an RSA key in PEM format: download a new one from the App's page")

func parseKey(text forge.Secret) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errKey
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if key, ok := parsed.(*rsa.PrivateKey); err == nil && ok {
		return key, nil
	}
	return nil, errKey
}

// sign adds a token that the App signed: RS256 of RFC 7518.
func (a *app) sign(_ context.Context, r *http.Request) error {
	part := func(v any) string {
		text, _ := json.Marshal(v) //nolint:errcheck // maps of numbers and strings
		return base64.RawURLEncoding.EncodeToString(text)
	}
	now := a.now()
	text := part(object{"alg": "RS256", "typ": "JWT"}) + "." +
		part(object{"iss": a.id, "iat": now.Add(-appTokenLag).Unix(), "exp": now.Add(appTokenAge).Unix()})
	digest := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, a.key, crypto.SHA256, digest[:])
	if err != nil {
		return errKey
	}
	r.Header.Set("Authorization", "Bearer "+text+"."+base64.RawURLEncoding.EncodeToString(signature))
	return nil
}

// authorize adds the token of the installation.
func (a *app) authorize(ctx context.Context, r *http.Request) error {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.token == "" || a.now().After(a.expires.Add(-early)) {
		if err := a.renew(ctx); err != nil {
			return err
		}
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	return nil
}

// renew gets a token of the installation. The lock is held.
func (a *app) renew(ctx context.Context) error {
	if a.installation == 0 {
		var found struct {
			ID int64 `json:"id"`
		}
		if _, err := a.client.Do(ctx, wire.Call{Doing: "find the installation of the GitHub App", Path: a.repo + "/installation", Out: &found}); err != nil {
			return err
		}
		a.installation = found.ID
	}
	var token struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}
	path := "/app/installations/" + strconv.FormatInt(a.installation, 10) + "/access_tokens"
	if _, err := a.client.Do(ctx, wire.Call{Doing: "get a token of the GitHub App for the installation", Method: http.MethodPost, Path: path, Out: &token}); err != nil {
		return err
	}
	a.token, a.expires = token.Token, token.Expires
	a.hide(a.token)
	return nil
}

// name is the login of the App's comments.
func (a *app) name(ctx context.Context) (string, error) {
	var self struct {
		Slug string `json:"slug"`
	}
	_, err := a.client.Do(ctx, wire.Call{Doing: "read the name of the GitHub App", Path: "/app", Out: &self})
	return self.Slug + "[bot]", err
}
