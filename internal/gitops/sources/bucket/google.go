// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"cmp"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"github.com/yuba-dev/yuba/internal/gitops/sources/identity"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

const (
	googleEndpoint = "storage.googleapis.com"
	googleScope    = "https://www.googleapis.com/auth/devstorage.read_only"
	googleTokens   = "https://oauth2.googleapis.com/token"
)

// googleStore speaks the JSON API of Google Cloud Storage.
type googleStore struct {
	client *http.Client
	base   string
}

func (b *Bucket) openGoogle() (store, error) {
	if strings.ContainsAny(b.Endpoint, "/@?# ") {
		return nil, upstream.Stalled(reasonURLInvalid, nil, "spec.endpoint must be a host, usually %s", googleEndpoint)
	}
	plain, err := b.httpClient()
	if err != nil {
		return nil, err
	}
	open := func(tokens oauth2.TokenSource) store {
		client := &http.Client{Transport: &oauth2.Transport{Source: oauth2.ReuseTokenSource(nil, tokens), Base: plain.Transport}, CheckRedirect: plain.CheckRedirect}
		return &googleStore{client, b.scheme() + cmp.Or(b.Endpoint, googleEndpoint) + "/storage/v1/b/" + url.PathEscape(b.Name) + "/o"}
	}
	if b.Identity {
		return open(identity.Google(context.Background())), nil
	}
	var account struct {
		Type     string `json:"type"`
		Email    string `json:"client_email"`
		Key      string `json:"private_key"`
		KeyID    string `json:"private_key_id"`
		TokenURI string `json:"token_uri"`
	}
	// The parser's errors quote what it parses.
	if err := json.Unmarshal(b.Credentials[serviceAccount], &account); err != nil || account.Type != "service_account" || account.Key == "" {
		return nil, badCredentials("the Secret of spec.secretRef needs the entry serviceaccount: the key of a service account, in Google's JSON format", nil)
	}
	if !isPrivateKey(account.Key) {
		return nil, badCredentials("the private_key in the entry serviceaccount of the Secret of spec.secretRef is not an RSA key in PEM", nil)
	}
	config := &jwt.Config{Email: account.Email, PrivateKey: []byte(account.Key), PrivateKeyID: account.KeyID,
		Scopes: []string{googleScope}, TokenURL: cmp.Or(account.TokenURI, googleTokens)}
	// The library requests tokens outside the context of the request that needs them.
	asking := *plain
	asking.Timeout = b.Timeout
	return open(config.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, &asking))), nil
}

// isPrivateKey reports whether text is an RSA key, with which tokens are requested.
func isPrivateKey(text string) bool {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return false
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	_, ok := key.(*rsa.PrivateKey)
	return err == nil && ok
}

// statusError is the HTTP status of a failed request.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("status %d", int(e)) }

func (s *googleStore) get(ctx context.Context, address string, query url.Values) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		// The library hides why it stopped to request tokens, and may stop before the context ends.
		if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
			return nil, errors.Join(context.DeadlineExceeded, err)
		}
		if ctx.Err() != nil {
			return nil, errors.Join(context.Cause(ctx), err)
		}
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(statusError(response.StatusCode), response.Body.Close())
	}
	return response, nil
}

type googleObject struct {
	Name       string `json:"name"`
	ETag       string `json:"etag"`
	Size       string `json:"size"`
	Generation string `json:"generation"`
}

func (o googleObject) object() object {
	size, err := strconv.ParseInt(o.Size, 10, 64)
	if err != nil {
		size = -1
	}
	return object{key: o.Name, etag: o.ETag, size: size, generation: o.Generation}
}

func (s *googleStore) list(ctx context.Context, prefix string, visit func(object) error) error {
	query := url.Values{"prefix": {prefix}, "fields": {"items(name,etag,size,generation),nextPageToken"}, "maxResults": {"1000"}}
	for {
		next, err := s.page(ctx, query, visit)
		if err != nil || next == "" {
			return err
		}
		if next == query.Get("pageToken") {
			return errMalformed
		}
		query.Set("pageToken", next)
	}
}

func (s *googleStore) page(ctx context.Context, query url.Values, visit func(object) error) (next string, err error) {
	response, err := s.get(ctx, s.base, query)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	var page struct {
		Items []googleObject `json:"items"`
		Next  string         `json:"nextPageToken"`
	}
	if err := json.NewDecoder(response.Body).Decode(&page); err != nil {
		return "", fmt.Errorf("%w: %w", errMalformed, err)
	}
	for _, item := range page.Items {
		if err := visit(item.object()); err != nil {
			return "", err
		}
	}
	return page.Next, nil
}

// open reads the listed content: that of a generation never changes.
func (s *googleStore) open(ctx context.Context, o object) (content, error) {
	body, err := s.media(ctx, o.key, url.Values{"generation": {o.generation}})
	return unlessChanged(content{body, o.etag}, err)
}

func (s *googleStore) peek(ctx context.Context, key string) (content, error) {
	body, err := s.media(ctx, key, url.Values{})
	if statusOf(err) == http.StatusNotFound {
		return content{}, errGone
	}
	return content{body: body}, err
}

func (s *googleStore) media(ctx context.Context, key string, query url.Values) (io.ReadCloser, error) {
	query.Set("alt", "media")
	response, err := s.get(upstream.Content(ctx), s.base+"/"+url.PathEscape(key), query)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}
