// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// oidcIssuer is an OIDC issuer of its own: a discovery document, a key, and tokens signed with it.
type oidcIssuer struct {
	*httptest.Server
	key *rsa.PrivateKey
}

func newOIDCIssuer(t *testing.T) *oidcIssuer {
	t.Helper()
	i := &oidcIssuer{key: newRSAKey(t)}
	i.Server = httptest.NewTLSServer(http.HandlerFunc(i.answer))
	t.Cleanup(i.Close)
	return i
}

func newRSAKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (i *oidcIssuer) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		fmt.Fprintf(w, `{"issuer": %q, "jwks_uri": %q, "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
			"id_token_signing_alg_values_supported": ["RS256"]}`, i.URL, i.URL+"/keys")
	case "/keys":
		fmt.Fprintf(w, `{"keys": [{"kty": "RSA", "kid": "one", "alg": "RS256", "use": "sig", "n": %q, "e": %q}]}`,
			encode(i.key.N.Bytes()), encode(big.NewInt(int64(i.key.E)).Bytes()))
	default:
		http.NotFound(w, r)
	}
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

type claims map[string]any

// claims are those of a token that is good for an hour, with changes. A nil takes a claim away.
func (i *oidcIssuer) claims(changes claims) claims {
	now := time.Now().Unix()
	c := claims{"iss": i.URL, "aud": "yuba", "sub": "7f3a", "email": "ada@example.com", "groups": []string{"platform"},
		"iat": now, "nbf": now, "exp": now + 3600}
	maps.Copy(c, changes)
	for name, value := range c {
		if value == nil {
			delete(c, name)
		}
	}
	return c
}

// unsigned is a token without a signature's bytes.
func unsigned(t *testing.T, algorithm string, c claims) string {
	t.Helper()
	payload, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return encode(fmt.Appendf(nil, `{"alg": %q, "kid": "one", "typ": "JWT"}`, algorithm)) + "." + encode(payload) + "."
}

// sign is a token signed with a key.
func sign(t *testing.T, key *rsa.PrivateKey, c claims) string {
	t.Helper()
	token := unsigned(t, "RS256", c)
	sum := sha256.Sum256([]byte(strings.TrimSuffix(token, ".")))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return token + encode(signature)
}

// configure writes an authentication configuration that accepts the issuer's tokens for an
// audience.
func (i *oidcIssuer) configure(t *testing.T, path, audience string) {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw})
	indented := strings.ReplaceAll(strings.TrimSpace(string(ca)), "\n", "\n      ")
	text := fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: %s
    audiences: [%s]
    certificateAuthority: |
      %s
  claimMappings:
    username:
      claim: email
      prefix: "oidc:"
    groups:
      claim: groups
      prefix: "oidc:"
`, i.URL, audience, indented)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
