// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vaultinit

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	patience  = 30 * time.Second
	maxAnswer = 4 << 20
)

// api is Vault's, with the token of the setup.
type api struct {
	address string
	http    *http.Client
	token   string
}

// newAPI refuses addresses that would carry keys in clear text.
func newAPI(address string, authorities []byte) (*api, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("the address of Vault is not valid: want https://HOST:PORT")
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return nil, fmt.Errorf("the address of Vault, %s, is not https: keys and tokens would travel in clear text. Use https, or http on loopback (such as a port-forward)", u.Redacted())
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert,errcheck // the default one is
	if len(authorities) > 0 {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(authorities) {
			return nil, errors.New("the file with Vault's certificate authorities has none")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	// An answer with keys must not come from elsewhere, and a token must not go there.
	client := &http.Client{Transport: transport, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &api{address: strings.TrimSuffix(u.String(), "/"), http: client}, nil
}

// statusError is a refusal of Vault.
type statusError struct {
	path   string
	code   int
	errors []string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("Vault answers %d to %s: %s", e.code, e.path, strings.Join(e.errors, "; "))
}

func statusOf(err error) int {
	var s *statusError
	if errors.As(err, &s) {
		return s.code
	}
	return 0
}

// call asks Vault once. Errors have neither bodies of requests nor tokens.
func (a *api) call(ctx context.Context, method, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, a.address+"/v1/"+path, content)
	if err != nil {
		return err
	}
	r.Header.Set("X-Vault-Request", "true")
	if a.token != "" {
		r.Header.Set("X-Vault-Token", a.token)
	}
	answer, err := a.http.Do(r)
	if err != nil {
		return fmt.Errorf("ask Vault for %s: %w", path, err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read Vault's answer to %s: %w", path, err)
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		var refused struct {
			Errors []string `json:"errors"`
		}
		_ = json.Unmarshal(data, &refused) // an answer of something else has none
		return &statusError{path, answer.StatusCode, refused.Errors}
	}
	if into == nil {
		return nil
	}
	if json.Unmarshal(data, into) != nil {
		return fmt.Errorf("read Vault's answer to %s: it is not JSON", path) // and may have keys
	}
	return nil
}

// sealStatus is the answer of sys/seal-status.
type sealStatus struct {
	Initialized bool   `json:"initialized"`
	Sealed      bool   `json:"sealed"`
	Type        string `json:"type"`
	Version     string `json:"version"`
	// Cluster is empty while it is sealed. All servers of a Vault have the same.
	Cluster string `json:"cluster_id"`
}

// initAnswer is the answer of sys/init. It prints nothing.
type initAnswer struct {
	Keys      []string `json:"keys_base64"`
	RootToken string   `json:"root_token"`
}

// String hides the keys from logs.
func (initAnswer) String() string { return "(keys of Vault)" }

// GoString hides the keys from logs.
func (initAnswer) GoString() string { return "(keys of Vault)" }
