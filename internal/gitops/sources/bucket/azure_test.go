// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"encoding/base64"
	"encoding/pem"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeAzure speaks as much of the protocol of Azure Blob Storage, and of who gives out tokens, as
// is needed here. It looks at who asks, but verifies no signatures of shared keys.
type fakeAzure struct {
	*httptest.Server
	objects map[string]string
	allowed func(r *http.Request) bool
}

func newAzure(t *testing.T, objects map[string]string) *fakeAzure {
	t.Helper()
	a := &fakeAzure{objects: objects}
	a.Server = httptest.NewTLSServer(http.HandlerFunc(a.serve))
	t.Cleanup(a.Close)
	return a
}

func (a *fakeAzure) serve(w http.ResponseWriter, r *http.Request) {
	fail := func(status int, code string) {
		w.Header().Set("x-ms-error-code", code)
		w.WriteHeader(status)
		fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>hunter2</Message></Error>`, code)
	}
	const base = "/" + bucketName
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/tenant/"):
		a.signIn(w, r)
	case !a.allowed(r):
		fail(http.StatusForbidden, "AuthenticationFailed")
	case path == base && r.URL.Query().Get("comp") == "list":
		a.list(w, r)
	case strings.HasPrefix(path, base+"/"):
		content, ok := a.objects[strings.TrimPrefix(path, base+"/")]
		etag := `"0x` + generation(content) + `"`
		if wanted := r.Header.Get("If-Match"); ok && wanted != "" && wanted != etag {
			fail(http.StatusPreconditionFailed, "ConditionNotMet")
		} else if ok {
			w.Header().Set("ETag", etag)
			fmt.Fprint(w, content)
		} else {
			fail(http.StatusNotFound, "BlobNotFound")
		}
	default:
		fail(http.StatusNotFound, "ContainerNotFound")
	}
}

// signIn gives a token to the application whose secret is right.
func (a *fakeAzure) signIn(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		fmt.Fprintf(w, `{"token_endpoint":"%s/tenant/oauth2/v2.0/token","authorization_endpoint":"%s/tenant/oauth2/v2.0/authorize","issuer":"%s/tenant/v2.0"}`, a.URL, a.URL, a.URL)
	case r.FormValue("client_id") == "client" && r.FormValue("client_secret") == "right":
		fmt.Fprint(w, `{"access_token":"the-token","token_type":"Bearer","expires_in":3600}`)
	default:
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":"invalid_client","error_description":"hunter2"}`)
	}
}

// list answers with an object a page.
func (a *fakeAzure) list(w http.ResponseWriter, r *http.Request) {
	var names []string
	for name := range a.objects {
		if strings.HasPrefix(name, r.URL.Query().Get("prefix")) && name > r.URL.Query().Get("marker") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	w.Header().Set("Content-Type", "application/xml")
	fmt.Fprint(w, `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>`)
	next := ""
	if len(names) > 0 {
		content := a.objects[names[0]]
		fmt.Fprint(w, `<Blob><Name>`)
		_ = xml.EscapeText(w, []byte(names[0]))
		fmt.Fprintf(w, `</Name><Properties><Etag>0x%s</Etag><Content-Length>%d</Content-Length></Properties></Blob>`, generation(content), len(content))
		next = names[0]
	}
	fmt.Fprint(w, `</Blobs><NextMarker>`)
	_ = xml.EscapeText(w, []byte(next))
	fmt.Fprint(w, `</NextMarker></EnumerationResults>`)
}

func (a *fakeAzure) bucket(credentials map[string]string) *Bucket {
	b := &Bucket{Provider: Azure, Endpoint: a.URL, Name: bucketName, Timeout: time.Minute}
	b.Access.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})
	if credentials != nil {
		b.Credentials = map[string][]byte{}
	}
	for name, value := range credentials {
		b.Credentials[name] = []byte(value)
	}
	return b
}

func TestAzure(t *testing.T) {
	server := newAzure(t, map[string]string{"a.tf": "a", "dir/b c&<.tf": "bb", "x.md": "x", ".sourceignore": "*.md", "dir/": ""})
	shared := base64.StdEncoding.EncodeToString([]byte("some key"))
	for sentence, c := range map[string]struct {
		credentials map[string]string
		allowed     func(r *http.Request) bool
	}{
		"nobody, of a public container": {nil, func(r *http.Request) bool { return r.Header.Get("Authorization") == "" }},
		"a shared key": {map[string]string{accountKey: shared}, func(r *http.Request) bool {
			return strings.HasPrefix(r.Header.Get("Authorization"), "SharedKey 127:")
		}},
		"a shared access signature": {map[string]string{sasKey: "?sv=2024&sig=a%2Bb%3D"}, func(r *http.Request) bool {
			return r.URL.Query().Get("sig") == "a+b=" && r.URL.Query().Get("sv") == "2024"
		}},
		"an application": {map[string]string{tenantID: "tenant", clientID: "client", clientSecret: "right", authorityHost: server.URL}, func(r *http.Request) bool {
			return r.Header.Get("Authorization") == "Bearer the-token"
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			server.allowed = c.allowed
			tree := look(t, server.bucket(c.credentials))
			if diff := cmp.Diff(map[string]string{"a.tf": "a", "dir/b c&<.tf": "bb"}, fetched(t, tree)); diff != "" {
				t.Error(diff)
			}
		})
	}
	server.allowed = func(*http.Request) bool { return true }
	tree := look(t, server.bucket(nil))
	server.objects["a.tf"] = "changed"
	wantFailure(t, tree.Fetch(t.Context(), t.TempDir()), reasonOperation, false, "it was changed or removed")
}

func TestAccessToAzure(t *testing.T) {
	server := newAzure(t, map[string]string{"a": "a"})
	server.allowed = func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer the-token" }
	for sentence, c := range map[string]struct {
		credentials map[string]string
		reason      string
		stalled     bool
		message     string
	}{
		"nobody":                      {nil, reasonOperation, false, "403 Forbidden: the credentials of spec.secretRef are not accepted"},
		"a signature that is wrong":   {map[string]string{sasKey: "sig=hunter2"}, reasonOperation, false, "403"},
		"a signature that is none":    {map[string]string{sasKey: "hunter2=%zz"}, reasonAuthentication, false, "not valid Azure credentials"},
		"a key that is none":          {map[string]string{accountKey: "hunter2!"}, reasonAuthentication, false, "not valid Azure credentials"},
		"a wrong secret":              {map[string]string{tenantID: "tenant", clientID: "client", clientSecret: "hunter2", authorityHost: server.URL}, reasonOperation, false, "the token service does not accept"},
		"an application without one":  {map[string]string{tenantID: "tenant", clientID: "client"}, reasonAuthentication, false, "clientSecret or clientCertificate"},
		"a certificate that is none":  {map[string]string{tenantID: "tenant", clientID: "client", clientCertificate: "hunter2"}, reasonAuthentication, false, "not valid Azure credentials"},
		"the machine's own identity":  {map[string]string{clientID: "client"}, reasonAuthentication, true, "which sources may not use"},
		"a Secret of something else":  {map[string]string{"password": "hunter2"}, reasonAuthentication, false, "needs accountKey, or sasKey"},
		"an authority without secure": {map[string]string{tenantID: "tenant", clientID: "client", clientSecret: "x", authorityHost: "http://127.0.0.1:1"}, reasonAuthentication, false, "not valid Azure credentials"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := New().Look(t.Context(), server.bucket(c.credentials), false)
			wantFailure(t, err, c.reason, c.stalled, c.message)
		})
	}
	for _, endpoint := range []string{"account.blob.core.windows.net", "http://account.blob.core.windows.net", "https://user:hunter2@account.blob.core.windows.net", "%"} {
		b := server.bucket(nil)
		b.Endpoint = endpoint
		_, err := New().Look(t.Context(), b, false)
		wantFailure(t, err, reasonURLInvalid, true, "spec.endpoint must be a URL")
	}
	missing := server.bucket(nil)
	server.allowed = func(*http.Request) bool { return true }
	missing.Name = "missing"
	_, err := New().Look(t.Context(), missing, false)
	wantFailure(t, err, reasonOperation, false, "404 Not Found: the bucket does not exist")
}
