// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	"github.com/yuba-dev/yuba/internal/secrets/remote"
	"github.com/yuba-dev/yuba/internal/testkit/cloudtest"
	"github.com/yuba-dev/yuba/internal/testkit/ssmtest"
	"github.com/yuba-dev/yuba/internal/testkit/vaulttest"
)

// server is a store on a real server, or on one that speaks the published API.
type server struct {
	remote.Store
	// set writes a secret as somebody else does. Tags are only written with the first version.
	set func(key, value string, tags map[string]string)
	// first is the version of the first value, with its key.
	first string
	// noTags: it cannot select by tags. slashes: keys may have folders.
	noTags, slashes bool
	// badly is the same store with wrong credentials.
	badly remote.Store
	// checks: Check finds wrong credentials.
	checks bool
}

func newAWS(t *testing.T) (*ssmtest.Server, store.AWS, store.AWS) {
	s := ssmtest.New(t)
	good := store.AWS{Region: ssmtest.Region, Endpoint: s.URL, Keys: store.Keys{ID: ssmtest.AccessKey, Secret: ssmtest.SecretKey}, Client: remote.Any()}
	bad := good
	bad.Keys.Secret = "hunter2"
	return s, good, bad
}

func hostOf(t *testing.T, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func newVault(t *testing.T, mount string, v1 bool) *server {
	v := vaulttest.New(t)
	engine := "secret"
	if v1 {
		engine = "old"
		v.Do(t, http.MethodPost, "sys/mounts/old", map[string]any{"type": "kv", "options": map[string]string{"version": "1"}})
	}
	client := remote.Client([]string{hostOf(t, v.URL)}, nil)
	set := func(key, value string, tags map[string]string) {
		key = strings.TrimPrefix(key, engine+"/")
		if v1 {
			v.Do(t, http.MethodPost, engine+"/"+key, map[string]any{"value": value})
			return
		}
		v.Do(t, http.MethodPost, engine+"/data/"+key, map[string]any{"data": map[string]any{"value": value}})
		if tags != nil {
			v.Do(t, http.MethodPost, engine+"/metadata/"+key, map[string]any{"custom_metadata": tags})
		}
	}
	s := &server{Store: &remote.Vault{Server: v.URL, Mount: mount, V1: v1, Login: remote.VaultLogin{Token: v.Token}, Client: client},
		set: set, slashes: true, badly: &remote.Vault{Server: v.URL, Mount: mount, V1: v1, Login: remote.VaultLogin{Token: "hunter2"}, Client: client}, checks: true, noTags: v1}
	if !v1 {
		s.first = "1"
	}
	return s
}

func newAppRole(t *testing.T) *server {
	v := vaulttest.New(t)
	v.Do(t, http.MethodPost, "sys/auth/approle", map[string]any{"type": "approle"})
	v.Do(t, http.MethodPut, "sys/policies/acl/reader", map[string]string{"policy": `path "secret/*" { capabilities = ["read", "list"] }`})
	v.Do(t, http.MethodPost, "auth/approle/role/shop", map[string]any{"token_policies": "reader"})
	id, _ := v.Do(t, http.MethodGet, "auth/approle/role/shop/role-id", nil)["data"].(map[string]any)
	secret, _ := v.Do(t, http.MethodPost, "auth/approle/role/shop/secret-id", map[string]any{})["data"].(map[string]any)
	login := func(secret any) remote.VaultLogin {
		return remote.VaultLogin{Path: "approle/login", Body: map[string]string{"role_id": id["role_id"].(string), "secret_id": secret.(string)}}
	}
	client := remote.Any()
	return &server{Store: &remote.Vault{Server: v.URL, Mount: "secret/data", Login: login(secret["secret_id"]), Client: client}, first: "1", slashes: true, checks: true,
		set: func(key, value string, tags map[string]string) {
			v.Do(t, http.MethodPost, "secret/data/"+key, map[string]any{"data": map[string]any{"value": value}})
			if tags != nil {
				v.Do(t, http.MethodPost, "secret/metadata/"+key, map[string]any{"custom_metadata": tags})
			}
		}, badly: &remote.Vault{Server: v.URL, Mount: "secret", Login: login("hunter2"), Client: client}}
}

func newSecretsManager(t *testing.T) *server {
	s, good, bad := newAWS(t)
	return &server{Store: &remote.SecretsManager{AWS: good, Prefix: "team/"}, slashes: true, first: "uuid/first", badly: &remote.SecretsManager{AWS: bad},
		set: func(key, value string, tags map[string]string) {
			s.SetSecret("team/"+key, `{"value":"`+value+`"}`, tags)
			s.SetSecret("Team/other", "hunter2", nil)
		}}
}

func newParameters(t *testing.T) *server {
	s, good, bad := newAWS(t)
	return &server{Store: &remote.Parameters{AWS: good, Prefix: "/team/"}, slashes: true, noTags: true, badly: &remote.Parameters{AWS: bad, Prefix: "/team/"},
		set: func(key, value string, _ map[string]string) { s.Set("/team/"+key, `{"value":"`+value+`"}`) }}
}

func newGoogle(t *testing.T) *server {
	g := cloudtest.NewGoogle(t)
	other := cloudtest.NewGoogle(t)
	open := func(file []byte) remote.Store {
		key, err := remote.NewGoogleKey(file, remote.Any())
		if err != nil {
			t.Fatal(err)
		}
		return &remote.Google{Project: cloudtest.Project, Endpoint: g.URL, Token: key, Client: remote.Any(), OrFetch: true}
	}
	wrong := []byte(strings.ReplaceAll(string(other.Key), other.URL, g.URL))
	return &server{Store: open(g.Key), first: "1", badly: open(wrong), checks: true,
		set: func(key, value string, tags map[string]string) { g.Set(key, `{"value":"`+value+`"}`, tags) }}
}

func newAzure(t *testing.T) *server {
	a := cloudtest.NewAzure(t)
	open := func(secret string) remote.Store {
		client := remote.Client([]string{hostOf(t, a.URL)}, nil)
		return &remote.Azure{URL: a.URL + "/", Client: client, Token: &remote.AzurePrincipal{Tenant: cloudtest.Tenant, ClientID: cloudtest.ClientID, Secret: secret,
			Authority: a.URL, Resource: cloudtest.Resource, Client: client}}
	}
	return &server{Store: open(cloudtest.ClientSecret), badly: open("hunter2"), checks: true,
		set: func(key, value string, tags map[string]string) { a.Set(key, `{"value":"`+value+`"}`, tags) }}
}

// TestStores is the conformance suite of stores.
func TestStores(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *server{
		"Vault": func(t *testing.T) *server { return newVault(t, "secret", false) }, "Vault, keys with the mount": func(t *testing.T) *server { return newVault(t, "", false) },
		"Vault, KV v1": func(t *testing.T) *server { return newVault(t, "old", true) }, "Vault, AppRole": newAppRole,
		"Secrets Manager": newSecretsManager, "Parameter Store": newParameters, "Google": newGoogle, "Azure": newAzure,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			at := ""
			if v, ok := s.Store.(*remote.Vault); ok && v.Mount == "" {
				at = "secret/"
			}
			reads(t, s, at)
			finds(t, s, at)
			refuses(t, s, at)
		})
	}
}

func reads(t *testing.T, s *server, at string) {
	t.Helper()
	ctx := t.Context()
	var missing *remote.MissingError
	if _, err := s.Get(ctx, at+"shop-db", ""); !errors.As(err, &missing) {
		t.Fatalf("a secret that does not exist: %v", err)
	}
	s.set(at+"shop-db", "one", map[string]string{"app": "shop"})
	s.set(at+"shop-db", "two", nil)
	value, err := s.Get(ctx, at+"shop-db", "")
	if err != nil || !strings.Contains(string(value), `"value":"two"`) {
		t.Fatalf("read %s, %v", value, err)
	}
	if s.first != "" {
		if value, err := s.Get(ctx, at+"shop-db", s.first); err != nil || !strings.Contains(string(value), `"value":"one"`) {
			t.Fatalf("the first version is %s, %v", value, err)
		}
	}
	if _, err := s.Get(ctx, at+"shop-db", "77"); err == nil {
		t.Error("a version that does not exist was read")
	}
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
}

func finds(t *testing.T, s *server, at string) {
	t.Helper()
	for _, key := range []string{"shop-api", "shop-web", "other"} {
		s.set(at+key, key, map[string]string{"app": key})
	}
	if s.slashes {
		s.set(at+"deep/er/key", "deep", nil)
	}
	find := func(q remote.Query, want ...string) {
		t.Helper()
		q.Path = at + q.Path
		found, err := s.Find(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		keys := slices.Sorted(maps.Keys(found))
		for i := range keys {
			keys[i] = strings.TrimPrefix(keys[i], at)
		}
		if !slices.Equal(keys, want) {
			t.Errorf("found %v, want %v", keys, want)
		}
		for key, value := range found {
			if !strings.Contains(string(value), `"value"`) {
				t.Errorf("%s is %s", key, value)
			}
		}
	}
	find(remote.Query{Name: regexp.MustCompile("^shop-")}, "shop-api", "shop-db", "shop-web")
	if s.slashes {
		find(remote.Query{Path: "deep"}, "deep/er/key")
	}
	if !s.noTags {
		find(remote.Query{Tags: map[string]string{"app": "shop-web"}}, "shop-web")
	}
}

func refuses(t *testing.T, s *server, at string) {
	t.Helper()
	var missing *remote.MissingError
	_, err := s.badly.Get(t.Context(), at+"shop-db", "")
	if err == nil || errors.As(err, &missing) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("with wrong credentials: %v", err)
	}
	err = s.badly.Check(t.Context())
	if s.checks != (err != nil) || err != nil && strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the check of wrong credentials: %v", err)
	}
	for _, key := range []string{at + "../../sys/health", at + "a/../../b"} {
		if _, err := s.Get(t.Context(), key, ""); err == nil {
			t.Errorf("the key %s was read", key)
		}
	}
}

func TestADisabledVersionIsSkipped(t *testing.T) {
	g := cloudtest.NewGoogle(t)
	key, err := remote.NewGoogleKey(g.Key, remote.Any())
	if err != nil {
		t.Fatal(err)
	}
	s := &remote.Google{Project: cloudtest.Project, Endpoint: g.URL, Token: key, Client: remote.Any()}
	g.Set("shop", "one", nil)
	g.Set("shop", "two", nil)
	g.Disable("shop")
	if _, err := s.Get(t.Context(), "shop", ""); err == nil || !strings.Contains(err.Error(), "DISABLED") {
		t.Errorf("LatestOrFail: %v", err)
	}
	s.OrFetch = true
	if value, err := s.Get(t.Context(), "shop", ""); err != nil || string(value) != "one" {
		t.Errorf("LatestOrFetch: %s, %v", value, err)
	}
}

// A store whose author is not an administrator reaches nothing on this machine.
func TestPrivateServersAreNotReached(t *testing.T) {
	a := cloudtest.NewAzure(t)
	s := &remote.Azure{URL: a.URL, Client: remote.Client(nil, nil), Token: remote.StaticToken("t")}
	var private *store.PrivateError
	if _, err := s.Get(t.Context(), "shop", ""); !errors.As(err, &private) {
		t.Errorf("got %v", err)
	}
}
