// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Vault is the KV engine of a Vault. A secret is a JSON object. It serves one refresh, and is then made again.
type Vault struct {
	Server, Namespace string
	// Mount is the path of the engine; if it is empty, keys begin with it.
	Mount string
	// V1 is the first version of the engine, which has no versions of secrets.
	V1    bool
	Login VaultLogin
	// Client reaches the server.
	Client *http.Client
	// Tokens keeps tokens for several stores; nil for this one alone.
	Tokens *Tokens

	own Tokens

	mu sync.Mutex
	// counted is the token of a login if it may be used a limited number of times, so that it is not shared.
	counted string
	// versioned are the mounts that were found to have version 2 of the engine.
	versioned map[string]bool
}

// VaultLogin is how to get a token: the token itself, or a call of an auth method.
type VaultLogin struct {
	Token string
	// Path is the call below auth/, such as approle/login, with its arguments.
	Path string
	Body map[string]string
	// Namespace is that of the method.
	Namespace string
}

// Name implements [Store].
func (v *Vault) Name() string { return "vault " + v.Server }

// session is a Vault with a token.
type session struct {
	*Vault
	token string
}

func (v *Vault) tokens() *Tokens { return cmp.Or(v.Tokens, &v.own) }

func (v *Vault) key() tokenKey {
	return keyOf("vault", v.Server, cmp.Or(v.Login.Namespace, v.Namespace), v.Login.Path, v.Login.Body)
}

// open logs in, unless a token of the same login is kept. Vault stores each of its tokens until it expires.
func (v *Vault) open(ctx context.Context) (*session, error) {
	if v.Login.Token != "" {
		return &session{v, v.Login.Token}, nil
	}
	v.mu.Lock()
	token := v.counted
	v.mu.Unlock()
	if token != "" {
		return &session{v, token}, nil
	}
	token, err := v.tokens().get(ctx, v.key(), v.login)
	return &session{v, token}, err
}

// refused reports whether to log in again after a token was refused. One that may be used a limited number of times
// is used up, as far as anyone can tell.
func (v *Vault) refused(token string, invalid bool) bool {
	v.mu.Lock()
	counted := v.counted
	if counted == token {
		v.counted = ""
	}
	v.mu.Unlock()
	return counted != "" || v.tokens().refused(v.key(), token, invalid)
}

func (v *Vault) login(ctx context.Context) (string, time.Duration, error) {
	var out struct {
		Auth struct {
			Token   string `json:"client_token"`
			Seconds int64  `json:"lease_duration"`
			Uses    int    `json:"num_uses"`
		}
	}
	s := &session{v, ""}
	err := s.send(ctx, http.MethodPost, "auth/"+v.Login.Path, cmp.Or(v.Login.Namespace, v.Namespace), v.Login.Body, &out)
	if err == nil && out.Auth.Token == "" {
		err = errAnswer
	}
	if err != nil {
		return "", 0, fmt.Errorf("log in to %s at auth/%s: %w", v.Name(), v.Login.Path, err)
	}
	life := time.Duration(out.Auth.Seconds) * time.Second
	switch {
	case out.Auth.Uses > 0: // other refreshes would use it up
		life = 0
		v.mu.Lock()
		v.counted = out.Auth.Token
		v.mu.Unlock()
	case life == 0: // it does not expire
		life = 2 * tokenLife
	}
	return out.Auth.Token, life, nil
}

// call makes a call; again, if Vault does not accept a kept token any more.
func (s *session) call(ctx context.Context, method, path, namespace string, body, out any) error {
	err := s.send(ctx, method, path, namespace, body, out)
	if s.Login.Token != "" || !isStatus(err, http.StatusForbidden) || !s.refused(s.token, strings.Contains(err.Error(), "invalid token")) {
		return err
	}
	again, err := s.open(ctx)
	if err != nil {
		return err
	}
	s.token = again.token
	return s.send(ctx, method, path, namespace, body, out)
}

func (s *session) send(ctx context.Context, method, path, namespace string, body, out any) error {
	header := map[string]string{"X-Vault-Request": "true"}
	if s.token != "" {
		header["X-Vault-Token"] = s.token
	}
	if namespace != "" {
		header["X-Vault-Namespace"] = namespace
	}
	return do(ctx, s.Client, request{method: method, url: strings.TrimSuffix(s.Server, "/") + "/v1/" + path, header: header, body: body}, out)
}

// split returns the mount of a key and its path there.
func (v *Vault) split(key string) (mount, path string, err error) {
	key = strings.Trim(key, "/")
	if err := clean(key); err != nil {
		return "", "", err
	}
	mount = strings.Trim(v.Mount, "/")
	if !v.V1 { // both are published ways to write the mount
		mount = strings.TrimSuffix(mount, "/data")
	}
	if mount == "" {
		var ok bool
		if mount, key, ok = strings.Cut(key, "/"); !ok {
			return "", "", errors.New("the store names no path, so keys begin with the mount of the engine, as in secret/shop")
		}
	} else {
		key = strings.TrimPrefix(key, mount+"/")
	}
	if !v.V1 {
		key = strings.TrimPrefix(key, "data/")
	}
	return mount, key, nil
}

// escaped escapes each part of a path.
func escaped(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// Get implements [Store].
func (v *Vault) Get(ctx context.Context, key, version string) ([]byte, error) {
	s, err := v.open(ctx)
	if err != nil {
		return nil, err
	}
	return s.get(ctx, key, version)
}

func (s *session) get(ctx context.Context, key, version string) ([]byte, error) {
	mount, path, err := s.split(key)
	if err != nil {
		return nil, failed("read", s.Name(), key, err)
	}
	var out struct{ Data json.RawMessage }
	call := escaped(mount) + "/data/" + escaped(path)
	switch {
	case s.V1 && version != "":
		return nil, failed("read", s.Name(), key, errors.New("version 1 of the KV engine has no versions of secrets"))
	case s.V1:
		call = escaped(mount) + "/" + escaped(path)
	case version != "":
		call += "?version=" + url.QueryEscape(version)
	}
	err = s.call(ctx, http.MethodGet, call, s.Namespace, nil, &out)
	if vaultLacks(err) {
		if err := s.checkVersion(ctx, mount); err != nil {
			return nil, failed("read", s.Name(), key, err)
		}
		return nil, &MissingError{s.Name(), key}
	}
	if err != nil {
		return nil, failed("read", s.Name(), key, err)
	}
	if s.V1 {
		return out.Data, nil
	}
	var inner struct{ Data json.RawMessage }
	if json.Unmarshal(out.Data, &inner) != nil {
		return nil, failed("read", s.Name(), key, errAnswer)
	}
	if len(inner.Data) == 0 || string(inner.Data) == "null" { // its version is deleted
		if err := s.checkVersion(ctx, mount); err != nil {
			return nil, failed("read", s.Name(), key, err)
		}
		return nil, &MissingError{s.Name(), key}
	}
	return inner.Data, nil
}

// vaultLacks reports whether the engine says that there is nothing at a path: with an empty list of errors, or with
// the metadata of a deleted version. Of a path where no engine is, Vault says so; of the path of another version of the
// engine, it warns.
func vaultLacks(err error) bool {
	var out struct {
		Errors   *[]string
		Warnings []string
		Data     struct{ Metadata map[string]any }
	}
	e, ok := notFound(err)
	return ok && e.decode(&out) && len(out.Warnings) == 0 && (out.Errors != nil && len(*out.Errors) == 0 || len(out.Data.Metadata) > 0)
}

// checkVersion fails unless a mount has the version of the engine that the store names. Version 1 answers the paths of
// version 2 as if the secret did not exist, so this is asked before anything counts as missing. Version 2 itself warns
// about the paths of version 1.
func (s *session) checkVersion(ctx context.Context, mount string) error {
	s.mu.Lock()
	known := s.V1 || s.versioned[mount]
	s.mu.Unlock()
	if known {
		return nil
	}
	var out struct {
		Data struct{ Options struct{ Version string } }
	}
	if err := s.call(ctx, http.MethodGet, "sys/internal/ui/mounts/"+escaped(mount), s.Namespace, nil, &out); err != nil {
		return fmt.Errorf("there is no such secret, unless the engine at %s has version 1; read its version: %w", mount, err)
	}
	if out.Data.Options.Version != "2" {
		return fmt.Errorf("the engine at %s is not version 2 of the KV engine. Set provider.vault.version of the store to v1", mount)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.versioned == nil {
		s.versioned = map[string]bool{}
	}
	s.versioned[mount] = true
	return nil
}

// Find implements [Store]: it lists folders below the path.
func (v *Vault) Find(ctx context.Context, q Query) (map[string][]byte, error) {
	s, err := v.open(ctx)
	if err != nil {
		return nil, err
	}
	mount, at := strings.Trim(strings.TrimSuffix(strings.Trim(v.Mount, "/"), "/data"), "/"), strings.Trim(q.Path, "/")
	if mount == "" {
		mount, at, _ = strings.Cut(at, "/")
	}
	if mount == "" {
		return nil, failed("search", v.Name(), q.Path, errors.New("name the mount of the engine in the store's path"))
	}
	if len(q.Tags) > 0 && v.V1 {
		return nil, failed("search", v.Name(), q.Path, errors.New("version 1 of the KV engine has no metadata to select by tags"))
	}
	keys, err := s.list(ctx, mount, at, q)
	if err != nil {
		return nil, failed("search", v.Name(), q.Path, err)
	}
	return gather(ctx, v, keys, func(ctx context.Context, key string) ([]byte, error) {
		if v.Mount == "" {
			key = mount + "/" + key
		}
		return s.get(ctx, key, "")
	})
}

// list returns the keys below a folder, to the limit.
func (s *session) list(ctx context.Context, mount, at string, q Query) (keys []string, err error) {
	folders := []string{at}
	var calls calls
	for len(folders) > 0 {
		if err := calls.another(s); err != nil {
			return nil, err
		}
		folder := folders[0]
		folders = folders[1:]
		var out struct{ Data struct{ Keys []string } }
		path := escaped(mount) + "/metadata/" + escaped(folder)
		if s.V1 {
			path = escaped(mount) + "/" + escaped(folder)
		}
		err := s.call(ctx, "LIST", strings.TrimSuffix(path, "/"), s.Namespace, nil, &out)
		if vaultLacks(err) {
			if err := s.checkVersion(ctx, mount); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(slices.Values(out.Data.Keys)) {
			key := strings.TrimPrefix(folder+"/"+name, "/")
			if err := plausible(s, strings.TrimSuffix(name, "/"), key); err != nil {
				return nil, err
			}
			if strings.HasSuffix(name, "/") {
				folders = append(folders, strings.TrimSuffix(key, "/"))
				continue
			}
			if len(q.Tags) > 0 { // each needs a request
				if err := calls.another(s); err != nil {
					return nil, err
				}
			}
			if ok, err := s.selects(ctx, mount, key, q); err != nil {
				return nil, err
			} else if ok {
				keys = append(keys, key)
			}
		}
		if len(keys)+len(folders) > maxFound {
			return nil, &ManyError{s.Name()}
		}
	}
	return keys, nil
}

// selects reports whether a query selects a key. Tags are its custom metadata.
func (s *session) selects(ctx context.Context, mount, key string, q Query) (bool, error) {
	if !q.named(key) || len(q.Tags) == 0 {
		return q.named(key), nil
	}
	var out struct {
		Data struct {
			Tags map[string]string `json:"custom_metadata"`
		}
	}
	err := s.call(ctx, http.MethodGet, escaped(mount)+"/metadata/"+escaped(key), s.Namespace, nil, &out)
	return err == nil && q.tagged(out.Data.Tags), err
}

// Check implements [Store].
func (v *Vault) Check(ctx context.Context) error {
	s, err := v.open(ctx)
	if err != nil {
		return err
	}
	// A policy may forbid a token to look itself up, so only a token that is not valid is an error.
	err = s.call(ctx, http.MethodGet, "auth/token/lookup-self", v.Namespace, nil, nil)
	if isStatus(err, http.StatusForbidden) && !strings.Contains(err.Error(), "invalid token") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check the token of %s: %w", v.Name(), err)
	}
	return nil
}
