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
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"
)

// cloudScope is what tokens are for; permissions are those of the service account.
const cloudScope = "https://www.googleapis.com/auth/cloud-platform"

// Google is Google's Secret Manager in a project.
type Google struct {
	Project, Location string
	// Endpoint replaces Google's own address.
	Endpoint string
	// OrFetch reads the newest enabled version if the latest one is disabled or destroyed.
	OrFetch bool
	Token   TokenSource
	Client  *http.Client
}

// TokenSource gets a bearer token.
type TokenSource interface {
	Token(ctx context.Context) (string, error)
}

// StaticToken is a token that somebody else got.
type StaticToken string

// Token implements [TokenSource].
func (s StaticToken) Token(context.Context) (string, error) { return string(s), nil }

// GoogleKey is the key of a service account, which signs requests for tokens.
type GoogleKey struct {
	// Tokens keeps tokens for several keys; nil for this one alone.
	Tokens *Tokens

	config jwt.Config
	client *http.Client
	own    Tokens
}

// NewGoogleKey reads the JSON file of a key. The client reaches the address for tokens that it names.
func NewGoogleKey(content []byte, client *http.Client) (*GoogleKey, error) {
	var file struct {
		Type       string `json:"type"`
		Email      string `json:"client_email"`
		PrivateKey string `json:"private_key"`
		KeyID      string `json:"private_key_id"`
		TokenURI   string `json:"token_uri"`
	}
	if json.Unmarshal(content, &file) != nil || file.Type != "service_account" || file.PrivateKey == "" {
		return nil, errors.New("the key of the service account is not the JSON file that Google makes, with the type service_account")
	}
	address := cmp.Or(file.TokenURI, "https://oauth2.googleapis.com/token")
	// A signed request for a token is a credential, so it is not sent in clear text.
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, errors.New("token_uri in the key of the service account is not an https URL")
	}
	return &GoogleKey{config: jwt.Config{Email: file.Email, PrivateKey: []byte(file.PrivateKey), PrivateKeyID: file.KeyID,
		Scopes: []string{cloudScope}, TokenURL: address}, client: client}, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Token implements [TokenSource].
func (g *GoogleKey) Token(ctx context.Context) (string, error) {
	return cmp.Or(g.Tokens, &g.own).get(ctx, g.key(), g.login)
}

func (g *GoogleKey) key() tokenKey {
	return keyOf("google", g.config.Email, g.config.PrivateKeyID, g.config.PrivateKey, g.config.TokenURL)
}

func (g *GoogleKey) refused(token string) bool {
	return cmp.Or(g.Tokens, &g.own).refused(g.key(), token, true)
}

func (g *GoogleKey) login(ctx context.Context) (string, time.Duration, error) {
	token, err := g.config.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, g.client)).Token()
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.Response != nil:
		return "", 0, fmt.Errorf("get a token for the service account %s: %w", g.config.Email, &StatusError{Status: refused.Response.StatusCode, Message: message(refused.Body)})
	case err != nil: // it may quote the key
		return "", 0, fmt.Errorf("get a token for the service account %s: the key is not valid, or %s cannot be reached", g.config.Email, g.config.TokenURL)
	}
	return token.AccessToken, time.Until(token.Expiry), nil
}

// Name implements [Store].
func (g *Google) Name() string { return "Google Secret Manager of project " + g.Project }

// parent is where the secrets are.
func (g *Google) parent() string {
	path := "/v1/projects/" + url.PathEscape(g.Project)
	if g.Location != "" {
		path += "/locations/" + url.PathEscape(g.Location)
	}
	return path
}

func (g *Google) call(ctx context.Context, method, path string, body, out any) error {
	address := "https://secretmanager.googleapis.com"
	if g.Location != "" {
		address = "https://secretmanager." + url.PathEscape(g.Location) + ".rep.googleapis.com"
	}
	address = strings.TrimSuffix(cmp.Or(g.Endpoint, address), "/")
	return authorized(ctx, g.Token, func(token string) error {
		return do(ctx, g.Client, request{method: method, url: address + g.parent() + path, header: map[string]string{"Authorization": "Bearer " + token}, body: body}, out)
	})
}

// Get implements [Store].
func (g *Google) Get(ctx context.Context, key, version string) ([]byte, error) {
	value, _, err := g.access(ctx, key, cmp.Or(version, "latest"))
	if version == "" && g.OrFetch && isStatus(err, http.StatusBadRequest) {
		if version, err = g.enabled(ctx, key); err == nil {
			value, _, err = g.access(ctx, key, version)
		}
	}
	return value, err
}

// access returns a version of a secret, and its number.
func (g *Google) access(ctx context.Context, key, version string) (value []byte, number string, err error) {
	var out struct {
		Name    string
		Payload struct{ Data []byte }
	}
	err = g.call(ctx, http.MethodGet, "/secrets/"+url.PathEscape(key)+"/versions/"+url.PathEscape(version)+":access", nil, &out)
	if googleLacks(err, key) {
		return nil, "", &MissingError{g.Name(), key}
	}
	if err != nil {
		return nil, "", failed("read", g.Name(), key, err)
	}
	return out.Payload.Data, out.Name[strings.LastIndexByte(out.Name, '/')+1:], nil
}

// googleLacks reports whether the service says that it has no such secret or version. Of a project that does not
// exist, and of an address that is not the service's, it does not name the secret.
func googleLacks(err error, key string) bool {
	var out struct {
		Error struct{ Status, Message string }
	}
	e, ok := notFound(err)
	return ok && e.decode(&out) && out.Error.Status == "NOT_FOUND" && strings.HasPrefix(out.Error.Message, "Secret ") && strings.Contains(out.Error.Message, "/secrets/"+key)
}

// enabled returns the newest enabled version of a secret. Google lists the newest first.
func (g *Google) enabled(ctx context.Context, key string) (string, error) {
	var out struct{ Versions []struct{ Name string } }
	err := g.call(ctx, http.MethodGet, "/secrets/"+url.PathEscape(key)+"/versions?pageSize=1&filter="+url.QueryEscape("state:ENABLED"), nil, &out)
	switch {
	case err != nil:
		return "", failed("list the versions of", g.Name(), key, err)
	case len(out.Versions) == 0:
		return "", &MissingError{g.Name(), key}
	}
	name := out.Versions[0].Name
	return name[strings.LastIndexByte(name, '/')+1:], nil
}

// Find implements [Store]. Tags are labels.
func (g *Google) Find(ctx context.Context, q Query) (map[string][]byte, error) {
	var keys []string
	var calls calls
	for next := ""; ; {
		if err := calls.another(g); err != nil {
			return nil, err
		}
		values := url.Values{"pageSize": {"250"}}
		if next != "" {
			values.Set("pageToken", next)
		}
		var page struct {
			Secrets []struct {
				Name   string
				Labels map[string]string
			}
			NextPageToken string
		}
		if err := g.call(ctx, http.MethodGet, "/secrets?"+values.Encode(), nil, &page); err != nil {
			return nil, failed("search", g.Name(), q.Path, err)
		}
		for _, found := range page.Secrets {
			key := found.Name[strings.LastIndexByte(found.Name, '/')+1:]
			if strings.HasPrefix(key, q.Path) && q.named(key) && q.tagged(found.Labels) {
				keys = append(keys, key)
			}
		}
		if next = page.NextPageToken; next == "" || len(keys) > maxFound {
			break
		}
	}
	slices.Sort(keys)
	return gather(ctx, g, keys, func(ctx context.Context, key string) ([]byte, error) { return g.Get(ctx, key, "") })
}

// Check implements [Store].
func (g *Google) Check(ctx context.Context) error { return checkLogin(ctx, g.Token) }
