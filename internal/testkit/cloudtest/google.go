// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cloudtest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Project is the project of the secrets, and account its service account.
const (
	Project = "yuba-test"
	account = "reader@yuba-test.iam.gserviceaccount.com"
)

// Google is a Secret Manager with a token service.
type Google struct {
	URL string
	// Key is the file of the service account's key.
	Key []byte

	public  *rsa.PublicKey
	mu      sync.Mutex
	token   string
	secrets map[string]*googleSecret
	tokens  int
}

type googleSecret struct {
	labels   map[string]string
	versions [][]byte
	disabled map[int]bool
}

// NewGoogle starts a server that ends with the test.
func NewGoogle(t testing.TB) *Google {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	g := &Google{public: &private.PublicKey, token: "token-" + rand.Text(), secrets: map[string]*googleSecret{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", g.issue)
	mux.HandleFunc("/v1/projects/"+Project+"/", g.serve)
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	g.URL = h.URL
	g.Key, err = json.Marshal(map[string]string{"type": "service_account", "client_email": account, "private_key_id": "1", "token_uri": g.URL + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}))})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// issue makes a token for a signed request.
func (g *Google) issue(w http.ResponseWriter, r *http.Request) {
	parsed, err := jwt.ParseSigned(r.FormValue("assertion"), []jose.SignatureAlgorithm{jose.RS256})
	var claims jwt.Claims
	if err == nil {
		err = parsed.Claims(g.public, &claims)
	}
	if err == nil {
		err = claims.Validate(jwt.Expected{Issuer: account, AnyAudience: jwt.Audience{g.URL + "/token"}, Time: time.Now()})
	}
	if err != nil || r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		reply(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "Invalid JWT Signature."})
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tokens++
	reply(w, http.StatusOK, map[string]any{"access_token": g.token, "token_type": "Bearer", "expires_in": 3600})
}

// Tokens is how many tokens were issued.
func (g *Google) Tokens() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tokens
}

// Revoke makes the tokens that were issued invalid.
func (g *Google) Revoke() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.token = "token-" + rand.Text()
}

// reply writes JSON.
func reply(w http.ResponseWriter, status int, out any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(out) //nolint:errcheck // the client's loss
}

// decode reads the body of a request strictly.
func decode(r *http.Request, into any) bool {
	d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<20))
	d.DisallowUnknownFields()
	return d.Decode(into) == nil
}

func refuseGoogle(w http.ResponseWriter, status int, word, format string, args ...any) {
	reply(w, status, map[string]any{"error": map[string]any{"code": status, "status": word, "message": fmt.Sprintf(format, args...)}})
}

var secretNameRE = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)

func (g *Google) serve(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+g.token {
		refuseGoogle(w, http.StatusUnauthorized, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/v1/projects/"+Project+"/secrets")
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	name, added := strings.CutSuffix(parts[0], ":addVersion")
	switch {
	case path == "" && r.Method == http.MethodGet:
		g.list(w, r)
		return
	case path == "" && r.Method == http.MethodPost:
		g.create(w, r)
		return
	}
	s := g.secrets[name]
	switch {
	case s == nil:
		refuseGoogle(w, http.StatusNotFound, "NOT_FOUND", "Secret [projects/%s/secrets/%s] not found.", Project, name)
	case added && r.Method == http.MethodPost && len(parts) == 1:
		g.add(w, r, name, s)
	case len(parts) == 3 && parts[1] == "versions" && r.Method == http.MethodGet && strings.HasSuffix(parts[2], ":access"):
		g.access(w, name, strings.TrimSuffix(parts[2], ":access"), s)
	case len(parts) == 2 && parts[1] == "versions" && r.Method == http.MethodGet && r.URL.Query().Get("filter") == "state:ENABLED":
		g.enabled(w, name, s)
	default:
		refuseGoogle(w, http.StatusNotFound, "NOT_FOUND", "there is no call %s %s", r.Method, r.URL.Path)
	}
}

func (g *Google) create(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("secretId")
	var in struct {
		Replication struct {
			Automatic *struct{} `json:"automatic"`
		} `json:"replication"`
	}
	switch {
	case !decode(r, &in) || in.Replication.Automatic == nil || !secretNameRE.MatchString(name):
		refuseGoogle(w, http.StatusBadRequest, "INVALID_ARGUMENT", "The provided Secret ID [%s] or its replication is not valid.", name)
	case g.secrets[name] != nil:
		refuseGoogle(w, http.StatusConflict, "ALREADY_EXISTS", "Secret [projects/%s/secrets/%s] already exists.", Project, name)
	default:
		g.secrets[name] = &googleSecret{disabled: map[int]bool{}}
		reply(w, http.StatusOK, map[string]any{"name": "projects/1/secrets/" + name})
	}
}

func versionName(name string, n int) string {
	return fmt.Sprintf("projects/1/secrets/%s/versions/%d", name, n)
}

func (g *Google) add(w http.ResponseWriter, r *http.Request, name string, s *googleSecret) {
	var in struct {
		Payload struct {
			Data []byte `json:"data"`
		} `json:"payload"`
	}
	if !decode(r, &in) || len(in.Payload.Data) > 65536 {
		refuseGoogle(w, http.StatusBadRequest, "INVALID_ARGUMENT", "The payload is not valid.")
		return
	}
	s.versions = append(s.versions, in.Payload.Data)
	reply(w, http.StatusOK, map[string]any{"name": versionName(name, len(s.versions)), "state": "ENABLED"})
}

func (g *Google) access(w http.ResponseWriter, name, version string, s *googleSecret) {
	n, err := strconv.Atoi(version)
	if version == "latest" {
		n, err = len(s.versions), nil
	}
	switch {
	case err != nil || n < 1 || n > len(s.versions):
		refuseGoogle(w, http.StatusNotFound, "NOT_FOUND", "Secret Version [%s] not found.", versionName(name, n))
	case s.disabled[n]:
		refuseGoogle(w, http.StatusBadRequest, "FAILED_PRECONDITION", "Secret Version [%s] is in DISABLED state.", versionName(name, n))
	default:
		reply(w, http.StatusOK, map[string]any{"name": versionName(name, n), "payload": map[string]any{"data": s.versions[n-1]}})
	}
}

func (g *Google) enabled(w http.ResponseWriter, name string, s *googleSecret) {
	list := []map[string]string{}
	for n := len(s.versions); n > 0 && len(list) == 0; n-- {
		if !s.disabled[n] {
			list = append(list, map[string]string{"name": versionName(name, n), "state": "ENABLED"})
		}
	}
	reply(w, http.StatusOK, map[string]any{"versions": list})
}

func (g *Google) list(w http.ResponseWriter, r *http.Request) {
	var names []string
	for name := range g.secrets {
		names = append(names, name)
	}
	names, next := page(names, r.URL.Query().Get("pageToken"))
	list := []map[string]any{}
	for _, name := range names {
		list = append(list, map[string]any{"name": "projects/1/secrets/" + name, "labels": g.secrets[name].labels})
	}
	reply(w, http.StatusOK, map[string]any{"secrets": list, "nextPageToken": next})
}

// page returns two names after a token, and the token of the rest.
func page(names []string, token string) ([]string, string) {
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(name string) bool { return token != "" && name <= token })
	if len(names) <= 2 {
		return names, ""
	}
	return names[:2], names[1]
}

// Set adds a version to a secret, as somebody else does.
func (g *Google) Set(name, value string, labels map[string]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.secrets[name]
	if s == nil {
		s = &googleSecret{disabled: map[int]bool{}}
		g.secrets[name] = s
	}
	s.labels, s.versions = labels, append(s.versions, []byte(value))
}

// Disable disables the last version of a secret.
func (g *Google) Disable(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.secrets[name]
	s.disabled[len(s.versions)] = true
}
