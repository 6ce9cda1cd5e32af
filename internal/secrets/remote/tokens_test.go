// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	"github.com/yuba-dev/yuba/internal/secrets/remote"
	"github.com/yuba-dev/yuba/internal/testkit/cloudtest"
	"github.com/yuba-dev/yuba/internal/testkit/vaulttest"
)

// accessors are those of all tokens that Vault has.
func accessors(t *testing.T, v *vaulttest.Server) map[string]bool {
	t.Helper()
	data, _ := v.Do(t, "LIST", "auth/token/accessors", nil)["data"].(map[string]any)
	keys, _ := data["keys"].([]any)
	out := map[string]bool{}
	for _, key := range keys {
		out[key.(string)] = true //nolint:forcetypeassert // Vault's API
	}
	return out
}

// Vault stores each token, so one login is enough for all refreshes; a token that is revoked is replaced.
func TestLoginsAreKept(t *testing.T) {
	v := vaulttest.New(t)
	v.Do(t, http.MethodPost, "sys/auth/approle", map[string]any{"type": "approle"})
	v.Do(t, http.MethodPut, "sys/policies/acl/reader", map[string]string{"policy": `path "secret/*" { capabilities = ["read", "list"] }`})
	v.Do(t, http.MethodPost, "auth/approle/role/shop", map[string]any{"token_policies": "reader", "token_ttl": "1h"})
	v.Do(t, http.MethodPost, "secret/data/shop", map[string]any{"data": map[string]string{"value": "one"}})
	id, _ := v.Do(t, http.MethodGet, "auth/approle/role/shop/role-id", nil)["data"].(map[string]any)
	secret, _ := v.Do(t, http.MethodPost, "auth/approle/role/shop/secret-id", map[string]any{})["data"].(map[string]any)
	body := map[string]string{"role_id": id["role_id"].(string), "secret_id": secret["secret_id"].(string)} //nolint:forcetypeassert // Vault's API
	before := accessors(t, v)
	tokens := &remote.Tokens{}
	read := func(key string) error {
		s := &remote.Vault{Server: v.URL, Mount: "secret", Login: remote.VaultLogin{Path: "approle/login", Body: body}, Client: remote.Any(), Tokens: tokens}
		_, err := s.Get(t.Context(), key, "")
		return err
	}
	for range 5 {
		if err := read("shop"); err != nil {
			t.Fatal(err)
		}
	}
	after := accessors(t, v)
	if len(after) != len(before)+1 {
		t.Errorf("5 refreshes made %d tokens, want 1", len(after)-len(before))
	}
	for accessor := range after {
		if !before[accessor] {
			v.Do(t, http.MethodPost, "auth/token/revoke-accessor", map[string]string{"accessor": accessor})
		}
	}
	if err := read("shop"); err != nil {
		t.Errorf("after the token was revoked: %v", err)
	}
	// A right that is missing is not a reason to log in again.
	v.Do(t, http.MethodPut, "sys/policies/acl/reader", map[string]string{"policy": `path "secret/data/other" { capabilities = ["read"] }`})
	for range 3 {
		if err := read("shop"); err == nil {
			t.Error("read without the right")
		}
	}
	if after := accessors(t, v); len(after) != len(before)+1 {
		t.Errorf("%d tokens are left, want 1", len(after)-len(before))
	}
	// Other credentials have no part in it.
	body = map[string]string{"role_id": body["role_id"], "secret_id": "hunter2"}
	if err := read("other"); err == nil {
		t.Error("read with wrong credentials")
	}
}

// counting counts logins.
type counting struct{ logins atomic.Int64 }

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/login") {
		c.logins.Add(1)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// A token that may be used a few times serves the secrets of one refresh, and is replaced when it is used up.
func TestCountedTokensServeARefresh(t *testing.T) {
	v := vaulttest.New(t)
	v.Do(t, http.MethodPost, "sys/auth/approle", map[string]any{"type": "approle"})
	v.Do(t, http.MethodPut, "sys/policies/acl/reader", map[string]string{"policy": `path "secret/*" { capabilities = ["read", "list"] }`})
	v.Do(t, http.MethodPost, "auth/approle/role/shop", map[string]any{"token_policies": "reader", "token_num_uses": 4})
	v.Do(t, http.MethodPost, "secret/data/shop", map[string]any{"data": map[string]string{"value": "one"}})
	id, _ := v.Do(t, http.MethodGet, "auth/approle/role/shop/role-id", nil)["data"].(map[string]any)
	secret, _ := v.Do(t, http.MethodPost, "auth/approle/role/shop/secret-id", map[string]any{})["data"].(map[string]any)
	body := map[string]string{"role_id": id["role_id"].(string), "secret_id": secret["secret_id"].(string)} //nolint:forcetypeassert // Vault's API
	tokens, count := &remote.Tokens{}, &counting{}
	refresh := func(secrets int) {
		t.Helper()
		s := &remote.Vault{Server: v.URL, Mount: "secret", Login: remote.VaultLogin{Path: "approle/login", Body: body}, Client: &http.Client{Transport: count}, Tokens: tokens}
		for range secrets {
			if _, err := s.Get(t.Context(), "shop", ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, step := range []struct{ secrets, logins int64 }{{4, 1}, {9, 4}, {1, 5}} {
		refresh(int(step.secrets))
		if n := count.logins.Load(); n != step.logins {
			t.Errorf("after a refresh of %d secrets there were %d logins, want %d", step.secrets, n, step.logins)
		}
	}
	// A right that is missing is not a reason to log in again and again.
	v.Do(t, http.MethodPut, "sys/policies/acl/reader", map[string]string{"policy": `path "secret/data/other" { capabilities = ["read"] }`})
	s := &remote.Vault{Server: v.URL, Mount: "secret", Login: remote.VaultLogin{Path: "approle/login", Body: body}, Client: &http.Client{Transport: count}, Tokens: tokens}
	if _, err := s.Get(t.Context(), "shop", ""); err == nil || count.logins.Load() > 7 {
		t.Errorf("read without the right: %v, %d logins", err, count.logins.Load())
	}
}

func TestTokensOfCloudsAreKept(t *testing.T) {
	g := cloudtest.NewGoogle(t)
	g.Set("shop", "one", nil)
	tokens := &remote.Tokens{}
	for range 3 {
		key, err := remote.NewGoogleKey(g.Key, remote.Any())
		if err != nil {
			t.Fatal(err)
		}
		key.Tokens = tokens
		s := &remote.Google{Project: cloudtest.Project, Endpoint: g.URL, Token: key, Client: remote.Any()}
		if _, err := s.Get(t.Context(), "shop", ""); err != nil {
			t.Fatal(err)
		}
	}
	if n := g.Tokens(); n != 1 {
		t.Errorf("3 refreshes got %d tokens, want 1", n)
	}
	g.Revoke()
	key, err := remote.NewGoogleKey(g.Key, remote.Any())
	if err != nil {
		t.Fatal(err)
	}
	key.Tokens = tokens
	s := &remote.Google{Project: cloudtest.Project, Endpoint: g.URL, Token: key, Client: remote.Any()}
	if _, err := s.Get(t.Context(), "shop", ""); err != nil {
		t.Errorf("after the token was revoked: %v", err)
	}
}

// Terraform makes secrets without a version; the first version is written like a secret that does not exist.
func TestAnEmptySecretOfAWSIsInitialized(t *testing.T) {
	s, good, _ := newAWS(t)
	s.EmptySecret("shop")
	d := &remote.AWSDocument{Secret: "shop", SecretsManager: remote.SecretsManager{AWS: good}}
	document, err := d.Read(t.Context())
	if err != nil || document.Tag != "" {
		t.Fatalf("read %+v, %v", document, err)
	}
	if err := d.Write(t.Context(), []byte("one"), ""); err != nil {
		t.Fatal(err)
	}
	document, err = d.Read(t.Context())
	if err != nil || string(document.Content) != "one" {
		t.Fatalf("read %+v, %v", document, err)
	}
	if err := d.Write(t.Context(), []byte("two"), document.Tag); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(t.Context(), []byte("three"), ""); !isMoved(err) {
		t.Errorf("written over a version: %v", err)
	}
	if document, err = d.Read(t.Context()); err != nil || string(document.Content) != "two" {
		t.Errorf("read %+v, %v", document, err)
	}
}

func isMoved(err error) bool { return errors.Is(err, store.ErrMoved) }
