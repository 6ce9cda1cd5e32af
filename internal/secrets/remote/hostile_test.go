// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/yuba-dev/yuba/internal/secrets/remote"
	"github.com/yuba-dev/yuba/internal/testkit/cloudtest"
	"github.com/yuba-dev/yuba/internal/testkit/vaulttest"
)

// answering starts a server that answers all requests, and counts them.
func answering(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) (address string, requests *atomic.Int64) {
	requests = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// storesAt are stores whose server is at an address.
func storesAt(address string) map[string]remote.Store {
	return map[string]remote.Store{
		"vault":    &remote.Vault{Server: address, Mount: "secret", Login: remote.VaultLogin{Token: "t"}, Client: remote.Any()},
		"vault v1": &remote.Vault{Server: address, Mount: "secret", V1: true, Login: remote.VaultLogin{Token: "t"}, Client: remote.Any()},
		"google":   &remote.Google{Project: "p", Endpoint: address, Token: remote.StaticToken("t"), Client: remote.Any()},
		"azure":    &remote.Azure{URL: address, Token: remote.StaticToken("t"), Client: remote.Any()},
	}
}

// A secret is missing only if the service itself says so: what is missing is deleted from Secrets.
func TestOnlyTheServiceSaysThatASecretIsMissing(t *testing.T) {
	for sentence, body := range map[string]string{
		"an ingress":                       "<html>404 Not Found</html>",
		"a proxy with JSON":                `{"message":"no Route matched with those values"}`,
		"an empty answer":                  "",
		"another project":                  `{"error":{"code":404,"status":"NOT_FOUND","message":"Project [p] not found."}}`,
		"another secret":                   `{"error":{"code":404,"status":"NOT_FOUND","message":"Secret [projects/p/secrets/other] not found."}}`,
		"another call of Azure":            `{"error":{"code":"ResourceNotFound","message":"Resource not found"}}`,
		"an engine that is not there":      `{"errors":["no handler for route \"secret/data/shop\". route entry not found."]}`,
		"another version of the KV engine": `{"errors":[],"warnings":["Invalid path for a versioned K/V secrets engine."]}`,
	} {
		address, _ := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, body) //nolint:errcheck // the client checks
		})
		for name, s := range storesAt(address) {
			var missing *remote.MissingError
			if _, err := s.Get(t.Context(), "shop", ""); err == nil || errors.As(err, &missing) {
				t.Errorf("%s, %s: Get: %v", sentence, name, err)
			}
			if found, err := s.Find(t.Context(), remote.Query{}); err == nil {
				t.Errorf("%s, %s: found %v", sentence, name, found)
			}
		}
	}
}

// The same with a real Vault: an engine that is not mounted, and one of the other version.
func TestAnEngineThatIsNotThereIsAFailure(t *testing.T) {
	v := vaulttest.New(t)
	v.Do(t, http.MethodPost, "secret/data/shop", map[string]any{"data": map[string]string{"value": "one"}})
	v.Do(t, http.MethodPost, "secret/data/gone", map[string]any{"data": map[string]string{"value": "one"}})
	v.Do(t, http.MethodDelete, "secret/data/gone", nil)
	v.Do(t, http.MethodPost, "sys/mounts/old", map[string]any{"type": "kv", "options": map[string]string{"version": "1"}})
	v.Do(t, http.MethodPost, "old/shop", map[string]string{"value": "one"})
	v.Do(t, http.MethodPost, "old/data/flat", map[string]string{"value": "one"})
	var missing *remote.MissingError
	for sentence, test := range map[string]struct {
		mount, key string
		v1, lacks  bool
	}{
		"no engine":                  {"elsewhere", "shop", false, false},
		"no engine, v1":              {"elsewhere", "shop", true, false},
		"the other version":          {"secret", "shop", true, false},
		"v1 read as v2":              {"old", "shop", false, false},
		"v1 read as v2, a folder":    {"old", "flat", false, false},
		"no secret, v1":              {"old", "other", true, true},
		"no secret":                  {"secret", "other", false, true},
		"a version that was deleted": {"secret", "gone", false, true},
	} {
		s := &remote.Vault{Server: v.URL, Mount: test.mount, V1: test.v1, Login: remote.VaultLogin{Token: v.Token}, Client: remote.Any()}
		if _, err := s.Get(t.Context(), test.key, ""); err == nil || errors.As(err, &missing) != test.lacks {
			t.Errorf("%s: %v", sentence, err)
		}
		found, err := s.Find(t.Context(), remote.Query{})
		if right := test.mount == "secret" && !test.v1 || test.mount == "old" && test.v1; right != (err == nil) {
			t.Errorf("%s: found %v, %v", sentence, found, err)
		}
		if test.mount == "old" && !test.v1 && (err == nil || !strings.Contains(err.Error(), "Set provider.vault.version of the store to v1")) {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

// Names in lists are bounded, too: they come before any value.
func TestLongAndEmptyNamesEnd(t *testing.T) {
	for want, name := range map[string]string{"which has 1025 bytes": strings.Repeat("n", 1025), "without a name": ""} {
		address, _ := answering(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "LIST" {
				fmt.Fprintf(w, `{"data":{"keys":[%q]}}`, name) //nolint:errcheck // the client checks
				return
			}
			fmt.Fprintf(w, `{"value":[{"id":"https://x/secrets/%s","attributes":{"enabled":true}}]}`, name) //nolint:errcheck // the client checks
		})
		for store, s := range storesAt(address) {
			if store == "google" { // no author of a store chooses its server
				continue
			}
			if found, err := s.Find(t.Context(), remote.Query{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: found %v, %v", store, found, err)
			}
		}
	}
}

// Lists end, whatever a server answers.
func TestEndlessListsEnd(t *testing.T) {
	var address string
	address, requests := answering(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == "LIST" && !strings.Contains(r.URL.Path, "/a"): // each of these is as deep as a name may be long
			io.WriteString(w, `{"data":{"keys":["a1/","a2/","a3/","a4/","a5/"]}}`) //nolint:errcheck // the client checks
		case r.Method == "LIST":
			io.WriteString(w, `{"data":{"keys":["a/"]}}`) //nolint:errcheck // the client checks
		case strings.HasPrefix(r.URL.Path, "/v1/projects/"):
			io.WriteString(w, `{"secrets":[],"nextPageToken":"again"}`) //nolint:errcheck // the client checks
		default:
			fmt.Fprintf(w, `{"value":[],"nextLink":"%s/secrets?again"}`, address) //nolint:errcheck // the client checks
		}
	})
	for name, s := range storesAt(address) {
		requests.Store(0)
		if found, err := s.Find(t.Context(), remote.Query{}); err == nil || !strings.Contains(err.Error(), "needs more than 2000 requests") {
			t.Errorf("%s: found %v, %v", name, found, err)
		}
		if n := requests.Load(); n > 2000 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}

// Secrets of a query are bounded together.
func TestLargeFindsEnd(t *testing.T) {
	g := cloudtest.NewGoogle(t)
	key, err := remote.NewGoogleKey(g.Key, remote.Any())
	if err != nil {
		t.Fatal(err)
	}
	s := &remote.Google{Project: cloudtest.Project, Endpoint: g.URL, Token: key, Client: remote.Any()}
	for i := range 10 {
		g.Set(fmt.Sprintf("s%d", i), strings.Repeat("x", 500_000), nil)
	}
	if found, err := s.Find(t.Context(), remote.Query{}); err == nil || !strings.Contains(err.Error(), "more than 4194304 bytes together") {
		t.Errorf("found %d, %v", len(found), err)
	}
}

// A signed request for a token is not sent in clear text.
func TestKeysOfGoogleNameSecureServers(t *testing.T) {
	for address, ok := range map[string]bool{"https://oauth2.googleapis.com/token": true, "http://127.0.0.1:8080/token": true, "http://[::1]/token": true,
		"http://token.example.com/": false, "http://10.0.0.1/token": false, "ftp://127.0.0.1/": false, "https:///token": false} {
		_, err := remote.NewGoogleKey(fmt.Appendf(nil, `{"type":"service_account","private_key":"k","token_uri":%q}`, address), remote.Any())
		if ok != (err == nil) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
