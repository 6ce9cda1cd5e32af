// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// azureVersion is the version of Key Vault's API.
const azureVersion = "7.4"

// The addresses of Azure's public cloud.
const (
	AzureAuthority = "https://login.microsoftonline.com"
	AzureResource  = "https://vault.azure.net"
)

// AzurePrincipal is a service principal with a secret.
type AzurePrincipal struct {
	Tenant, ClientID, Secret string
	// Authority is where it logs in, and Resource the service that the token is for.
	Authority, Resource string
	Client              *http.Client
	// Tokens keeps tokens for several principals; nil for this one alone.
	Tokens *Tokens

	own Tokens
}

func (p *AzurePrincipal) key() tokenKey {
	return keyOf("azure", p.Authority, p.Tenant, p.ClientID, p.Secret, p.Resource)
}

func (p *AzurePrincipal) refused(token string) bool {
	return cmp.Or(p.Tokens, &p.own).refused(p.key(), token, true)
}

// Token implements [TokenSource].
func (p *AzurePrincipal) Token(ctx context.Context) (string, error) {
	return cmp.Or(p.Tokens, &p.own).get(ctx, p.key(), p.login)
}

func (p *AzurePrincipal) login(ctx context.Context) (string, time.Duration, error) {
	var out struct {
		Token   string `json:"access_token"`
		Seconds int64  `json:"expires_in"`
	}
	err := do(ctx, p.Client, request{method: http.MethodPost,
		url: strings.TrimSuffix(cmp.Or(p.Authority, AzureAuthority), "/") + "/" + url.PathEscape(p.Tenant) + "/oauth2/v2.0/token",
		body: url.Values{"grant_type": {"client_credentials"}, "client_id": {p.ClientID}, "client_secret": {p.Secret},
			"scope": {strings.TrimSuffix(cmp.Or(p.Resource, AzureResource), "/") + "/.default"}}}, &out)
	if err == nil && out.Token == "" {
		err = errAnswer
	}
	if err != nil {
		return "", 0, fmt.Errorf("log in to Azure as the client %s: %w", p.ClientID, err)
	}
	return out.Token, time.Duration(out.Seconds) * time.Second, nil
}

// Azure is a key vault of Azure.
type Azure struct {
	// URL is that of the key vault.
	URL    string
	Token  TokenSource
	Client *http.Client
}

// Name implements [Store].
func (a *Azure) Name() string { return "Azure Key Vault " + a.URL }

func (a *Azure) call(ctx context.Context, method, address string, body, out any) error {
	return authorized(ctx, a.Token, func(token string) error {
		return do(ctx, a.Client, request{method: method, url: address, header: map[string]string{"Authorization": "Bearer " + token}, body: body}, out)
	})
}

// address is that of a path in the vault.
func (a *Azure) address(path ...string) string {
	out := strings.TrimSuffix(a.URL, "/") + "/secrets"
	for _, part := range path {
		out += "/" + url.PathEscape(part)
	}
	return out + "?api-version=" + azureVersion
}

// azureSecret is a secret in an answer.
type azureSecret struct {
	ID         string
	Value      string
	Tags       map[string]string
	Attributes struct{ Enabled bool }
}

// last is the last part of an ID: a version, or a name.
func (s *azureSecret) last() string { return s.ID[strings.LastIndexByte(s.ID, '/')+1:] }

// Get implements [Store]. Keys may begin with secret/, as they are published; key/ and cert/ are not read.
func (a *Azure) Get(ctx context.Context, key, version string) ([]byte, error) {
	found, err := a.get(ctx, key, version)
	if err != nil {
		return nil, err
	}
	return []byte(found.Value), nil
}

func (a *Azure) get(ctx context.Context, key, version string) (*azureSecret, error) {
	name := strings.TrimPrefix(key, "secret/")
	if name == "" || strings.Contains(name, "/") {
		return nil, failed("read", a.Name(), key, errors.New("names of secrets have no /, and keys and certificates (key/, cert/) are not supported"))
	}
	path := []string{name}
	if version != "" {
		path = append(path, version)
	}
	out := &azureSecret{}
	err := a.call(ctx, http.MethodGet, a.address(path...), nil, out)
	if azureLacks(err) {
		return nil, &MissingError{a.Name(), key}
	}
	if err != nil {
		return nil, failed("read", a.Name(), key, err)
	}
	return out, nil
}

// azureLacks reports whether the key vault says that it has no such secret.
func azureLacks(err error) bool {
	var out struct{ Error struct{ Code string } }
	e, ok := notFound(err)
	return ok && e.decode(&out) && out.Error.Code == "SecretNotFound"
}

// Find implements [Store].
func (a *Azure) Find(ctx context.Context, q Query) (map[string][]byte, error) {
	var keys []string
	var calls calls
	for next := a.address() + "&maxresults=25"; next != ""; {
		if err := calls.another(a); err != nil {
			return nil, err
		}
		var page struct {
			Value    []azureSecret
			NextLink string
		}
		if err := a.call(ctx, http.MethodGet, next, nil, &page); err != nil {
			return nil, failed("search", a.Name(), q.Path, err)
		}
		for i := range page.Value {
			key := page.Value[i].last()
			if err := plausible(a, key, key); err != nil {
				return nil, failed("search", a.Name(), q.Path, err)
			}
			if page.Value[i].Attributes.Enabled && strings.HasPrefix(key, q.Path) && q.named(key) && q.tagged(page.Value[i].Tags) {
				keys = append(keys, key)
			}
		}
		next = page.NextLink
		// The token goes to the vault alone.
		if next != "" && !strings.HasPrefix(next, strings.TrimSuffix(a.URL, "/")+"/") {
			return nil, failed("search", a.Name(), q.Path, errors.New("the next page is at another host"))
		}
		if len(keys) > maxFound {
			break
		}
	}
	slices.Sort(keys)
	return gather(ctx, a, keys, func(ctx context.Context, key string) ([]byte, error) { return a.Get(ctx, key, "") })
}

// Check implements [Store].
func (a *Azure) Check(ctx context.Context) error { return checkLogin(ctx, a.Token) }
