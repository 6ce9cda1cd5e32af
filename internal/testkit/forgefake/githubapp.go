// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forgefake

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
)

// appToken is the token of the App's installation.
const appToken = "token-installation-c0de"

// AppID is the id of the App, Installation that of its installation.
const (
	AppID        = "12345"
	Installation = 678
)

// key is the App's private key.
var key = sync.OnceValue(func() *rsa.PrivateKey {
	made, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return made
})

// App is the configuration of a connection as a GitHub App.
func (w *World) App(t testing.TB) forge.Config {
	c := w.Config(t, forgetest.Full)
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key())})
	c.Credentials = forge.Credentials{App: &forge.App{ID: AppID, Key: forge.Secret(text)}}
	return c
}

// appRequest answers requests of the App itself, which are signed with its key.
func (w *World) appRequest(out http.ResponseWriter, r *http.Request) bool {
	if w.kind != forge.GitHub || !w.signed(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
		return false
	}
	var answer any
	switch r.Method + " " + r.URL.Path {
	case "GET /api/v3/app":
		answer = object{"slug": "yuba", "id": 12345}
	case "GET /api/v3/repos/" + w.name + "/installation":
		answer = object{"id": Installation}
	case "POST /api/v3/app/installations/" + strconv.Itoa(Installation) + "/access_tokens":
		out.WriteHeader(http.StatusCreated)
		answer = object{"token": appToken, "expires_at": time.Now().Add(time.Hour)}
	default:
		return false
	}
	json.NewEncoder(out).Encode(answer) //nolint:errcheck // the client notices
	return true
}

// signed verifies a token of the App.
func (w *World) signed(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return false
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(&key().PublicKey, crypto.SHA256, sum[:], signature) != nil {
		return false
	}
	content, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var claims struct {
		Issuer  string `json:"iss"`
		Issued  int64  `json:"iat"`
		Expires int64  `json:"exp"`
	}
	now := time.Now().Unix()
	return json.Unmarshal(content, &claims) == nil && claims.Issuer == AppID && claims.Issued <= now && claims.Expires > now && claims.Expires <= now+600
}

// gitHubCheck answers requests about check runs.
func (w *World) gitHubCheck(r *request) (int, any) {
	show := func(s *status) object {
		out := object{"id": s.id, "name": s.Name, "status": s.state, "details_url": s.URL, "output": object{"title": s.Description, "annotations_count": s.annotations}}
		if s.state == "completed" {
			out["conclusion"] = s.Result
		}
		return out
	}
	fill := func(s *status) (int, any) {
		output, _ := r.in["output"].(object)     //nolint:errcheck // empty
		list, _ := output["annotations"].([]any) //nolint:errcheck // empty
		title, _ := output["title"].(string)     //nolint:errcheck // empty
		if summary, ok := output["summary"].(string); !ok || summary == "" || len(list) > 50 {
			return http.StatusUnprocessableEntity, object{"message": "Invalid request"}
		}
		s.state, s.Description, s.URL, s.Result = r.text("status"), title, r.text("details_url"), forge.Result(r.text("conclusion"))
		s.annotations += len(list)
		return http.StatusCreated, show(s)
	}
	switch {
	case r.is("GET", "/commits/*/check-runs"):
		var latest []*status
		seen := map[string]bool{}
		for _, s := range w.statuses[r.args[0]] {
			if !seen[s.Name] {
				seen[s.Name], latest = true, append(latest, s)
			}
		}
		return http.StatusOK, object{"total_count": len(latest), "check_runs": shown(latest, show)}
	case r.is("POST", "/check-runs"):
		s := &status{Status: forge.Status{Name: r.text("name")}, id: w.id()}
		commit := r.text("head_sha")
		w.statuses[commit] = append([]*status{s}, w.statuses[commit]...)
		return fill(s)
	case r.is("PATCH", "/check-runs/*"):
		for _, list := range w.statuses {
			for _, s := range list {
				if s.id == r.number(0) {
					return fill(s)
				}
			}
		}
		return notFound()
	}
	return 0, nil
}

// Annotations is the number of annotations of a commit's checks.
func (w *World) Annotations(commit string) (n int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, s := range w.statuses[commit] {
		n += s.annotations
	}
	return n
}
