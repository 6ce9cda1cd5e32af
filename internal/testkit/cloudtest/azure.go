// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cloudtest

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// The service principal that may read and write, and the service for which it gets tokens.
const (
	Tenant       = "11111111-2222-3333-4444-555555555555"
	ClientID     = "66666666-7777-8888-9999-000000000000"
	ClientSecret = "only-for-tests"
	Resource     = "https://vault.test.example.com"
)

// Azure is a key vault with a token service.
type Azure struct {
	URL string

	mu      sync.Mutex
	token   string
	secrets map[string]*azureSecret
}

type azureSecret struct {
	tags     map[string]string
	versions []azureVersion
}

type azureVersion struct{ id, value string }

// NewAzure starts a server that ends with the test.
func NewAzure(t testing.TB) *Azure {
	t.Helper()
	a := &Azure{token: "token-" + rand.Text(), secrets: map[string]*azureSecret{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /"+Tenant+"/oauth2/v2.0/token", a.issue)
	mux.HandleFunc("/secrets", a.serve)
	mux.HandleFunc("/secrets/", a.serve)
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	a.URL = h.URL
	return a
}

func (a *Azure) issue(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("grant_type") != "client_credentials" || r.FormValue("client_id") != ClientID || r.FormValue("client_secret") != ClientSecret || r.FormValue("scope") != Resource+"/.default" {
		reply(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret provided."})
		return
	}
	reply(w, http.StatusOK, map[string]any{"access_token": a.token, "token_type": "Bearer", "expires_in": 3599})
}

func refuseAzure(w http.ResponseWriter, status int, code, message string) {
	reply(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}

var azureNameRE = regexp.MustCompile(`^[A-Za-z0-9-]{1,127}$`)

func (a *Azure) serve(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+a.token {
		refuseAzure(w, http.StatusUnauthorized, "Unauthorized", "AKV10000: Request is missing a Bearer or PoP token.")
		return
	}
	if r.URL.Query().Get("api-version") != "7.4" {
		refuseAzure(w, http.StatusBadRequest, "BadParameter", "api-version must be specified")
		return
	}
	path := strings.Trim(strings.TrimPrefix(r.URL.Path, "/secrets"), "/")
	name, version, _ := strings.Cut(path, "/")
	switch {
	case path == "" && r.Method == http.MethodGet:
		a.list(w, r)
	case !azureNameRE.MatchString(name):
		refuseAzure(w, http.StatusBadRequest, "BadParameter", "The request URI contains an invalid name: "+name)
	case r.Method == http.MethodPut && version == "":
		a.put(w, r, name)
	case r.Method == http.MethodGet:
		a.get(w, name, version)
	default:
		refuseAzure(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "")
	}
}

// bundle is a version in an answer.
func (a *Azure) bundle(name string, v azureVersion) map[string]any {
	return map[string]any{"id": a.URL + "/secrets/" + name + "/" + v.id, "value": v.value, "attributes": map[string]any{"enabled": true}, "tags": a.secrets[name].tags}
}

func (a *Azure) get(w http.ResponseWriter, name, version string) {
	if s := a.secrets[name]; s != nil {
		for i := len(s.versions) - 1; i >= 0; i-- {
			if version == "" || s.versions[i].id == version {
				reply(w, http.StatusOK, a.bundle(name, s.versions[i]))
				return
			}
		}
	}
	refuseAzure(w, http.StatusNotFound, "SecretNotFound", "A secret with (name/id) "+name+" was not found in this key vault.")
}

func (a *Azure) put(w http.ResponseWriter, r *http.Request, name string) {
	var in struct {
		Value       string `json:"value"`
		ContentType string `json:"contentType"`
	}
	if !decode(r, &in) || len(in.Value) > 25000 {
		refuseAzure(w, http.StatusBadRequest, "BadParameter", "The value is not valid.")
		return
	}
	a.set(name, in.Value)
	versions := a.secrets[name].versions
	reply(w, http.StatusOK, a.bundle(name, versions[len(versions)-1]))
}

func (a *Azure) set(name, value string) {
	s := a.secrets[name]
	if s == nil {
		s = &azureSecret{}
		a.secrets[name] = s
	}
	s.versions = append(s.versions, azureVersion{strings.ToLower(rand.Text()), value})
}

func (a *Azure) list(w http.ResponseWriter, r *http.Request) {
	var names []string
	for name := range a.secrets {
		names = append(names, name)
	}
	names, next := page(names, r.URL.Query().Get("$skiptoken"))
	list := []map[string]any{}
	for _, name := range names {
		list = append(list, map[string]any{"id": a.URL + "/secrets/" + name, "attributes": map[string]any{"enabled": true}, "tags": a.secrets[name].tags})
	}
	out := map[string]any{"value": list, "nextLink": nil}
	if next != "" {
		out["nextLink"] = a.URL + "/secrets?api-version=7.4&$skiptoken=" + next + "&maxresults=25"
	}
	reply(w, http.StatusOK, out)
}

// Set adds a version to a secret, as somebody else does.
func (a *Azure) Set(name, value string, tags map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.set(name, value)
	a.secrets[name].tags = tags
}
