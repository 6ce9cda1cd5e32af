// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package oidctest is a small identity provider that speaks OpenID Connect, for tests. It asks nobody
// anything: whoever comes is the person of its claims. It checks its clients as strictly as a real one,
// and errs when told to.
package oidctest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// The client that a provider knows.
const (
	ClientID = "yuba-page"
	Secret   = "correct horse"
	keyID    = "one"
)

// Provider is a running identity provider.
type Provider struct {
	*httptest.Server
	key   *rsa.PrivateKey
	other *rsa.PrivateKey

	mu    sync.Mutex
	codes map[string]url.Values
	f     Faults
}

// Faults are how a provider behaves. The zero value is that of a good one.
type Faults struct {
	// Claims are added to those of tokens, or replace them; a nil takes one away.
	Claims map[string]any
	// Refuse is an error for the browser, and RefuseCode one for a code, with a description.
	Refuse, RefuseCode, Description string
	// Issuer is another issuer in the discovery document. NoToken forgets the ID token, OtherKey signs
	// it with a key that nobody knows.
	Issuer            string
	NoToken, OtherKey bool
	// Down answers everything with an error.
	Down bool
}

// New starts a provider.
func New(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{key: newKey(t), other: newKey(t), codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.faults().Down {
			http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func newKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	const bits = 2048
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Behave sets how the provider behaves from now on.
func (p *Provider) Behave(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.f = f
}

func (p *Provider) faults() Faults {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.f
}

// Files writes the client's secret and the provider's authority.
func (p *Provider) Files(t testing.TB) (secret, authority string) {
	t.Helper()
	dir := t.TempDir()
	secret, authority = filepath.Join(dir, "secret"), filepath.Join(dir, "ca.crt")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
	for file, data := range map[string][]byte{secret: []byte(Secret + "\n"), authority: certificate} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return secret, authority
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the client is gone
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	issuer := p.URL
	if other := p.faults().Issuer; other != "" {
		issuer = other
	}
	answer(w, http.StatusOK, map[string]any{"issuer": issuer, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
		"jwks_uri": p.URL + "/keys", "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"}})
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &p.key.PublicKey, KeyID: keyID, Algorithm: "RS256", Use: "sig"}}})
}

// authorize sends the browser back with a code, or an error.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Get("client_id") != ClientID || query.Get("response_type") != "code" || query.Get("code_challenge_method") != "S256" || query.Get("nonce") == "" {
		http.Error(w, "a bad request: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	back, err := url.Parse(query.Get("redirect_uri"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f, brings := p.faults(), url.Values{"state": {query.Get("state")}}
	if f.Refuse != "" {
		brings.Set("error", f.Refuse)
		brings.Set("error_description", f.Description)
	} else {
		code := rand.Text()
		brings.Set("code", code)
		p.mu.Lock()
		p.codes[code] = query
		p.mu.Unlock()
	}
	back.RawQuery = brings.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// token exchanges a code, once, with its client's secret and the proof of who asked for it.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if decoded, err := url.QueryUnescape(secret); err == nil {
		secret = decoded
	}
	if id != ClientID || secret != Secret {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	p.mu.Lock()
	asked := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	p.mu.Unlock()
	f := p.faults()
	proof := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case f.RefuseCode != "":
		answer(w, http.StatusBadRequest, map[string]string{"error": f.RefuseCode, "error_description": f.Description})
		return
	case asked == nil || asked.Get("redirect_uri") != r.PostFormValue("redirect_uri") || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(proof[:]):
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	reply := map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 300}
	if !f.NoToken {
		token, err := p.sign(asked.Get("nonce"), f)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		reply["id_token"] = token
	}
	answer(w, http.StatusOK, reply)
}

func (p *Provider) sign(nonce string, f Faults) (string, error) {
	now := time.Now()
	claims := map[string]any{"iss": p.URL, "aud": ClientID, "sub": "7f3a", "nonce": nonce, "email": "ada@example.com", "email_verified": true,
		"name": "Ada Lovelace", "groups": []string{"platform"}, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix()}
	maps.Copy(claims, f.Claims)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	key := p.key
	if f.OtherKey {
		key = p.other
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: keyID}}, nil)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(claims).Serialize()
}
