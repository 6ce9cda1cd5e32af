// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeGoogle speaks as much of the JSON API of Google Cloud Storage as is needed here, and gives
// tokens to who signs with the key of the service account.
type fakeGoogle struct {
	*httptest.Server
	account []byte
	public  *rsa.PublicKey
	objects map[string]string
	hang    bool
}

func newGoogle(t *testing.T, objects map[string]string) *fakeGoogle {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	g := &fakeGoogle{public: &private.PublicKey, objects: objects}
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(g.Close)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	g.account, err = json.Marshal(map[string]string{"type": "service_account", "client_email": "reader@example.com", "token_uri": g.URL + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *fakeGoogle) serve(w http.ResponseWriter, r *http.Request) {
	const base = "/storage/v1/b/" + bucketName + "/o"
	path := r.URL.EscapedPath()
	switch {
	case path == "/token" && g.hang:
		_ = r.ParseForm() // a server hears of who leaves only when it has read what they sent
		<-r.Context().Done()
	case path == "/token" && g.signed(r.FormValue("assertion")):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"the-token","token_type":"Bearer","expires_in":3600}`)
	case path == "/token", r.Header.Get("Authorization") != "Bearer the-token":
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":"invalid_grant","error_description":"hunter2"}`)
	case path == base:
		g.list(w, r)
	case strings.HasPrefix(path, base+"/"):
		g.media(w, r, strings.TrimPrefix(path, base+"/"))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// signed verifies what asks for a token.
func (g *fakeGoogle) signed(assertion string) bool {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return false
	}
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	return err == nil && rsa.VerifyPKCS1v15(g.public, crypto.SHA256, digest[:], sig) == nil
}

func generation(content string) string { return fmt.Sprint(len(content)) }

// list answers with an object a page.
func (g *fakeGoogle) list(w http.ResponseWriter, r *http.Request) {
	var names []string
	for name := range g.objects {
		if strings.HasPrefix(name, r.URL.Query().Get("prefix")) && name > r.URL.Query().Get("pageToken") {
			names = append(names, name)
		}
	}
	page := map[string]any{}
	if len(names) > 0 {
		first := names[0]
		for _, name := range names {
			first = min(first, name)
		}
		content := g.objects[first]
		page["items"] = []googleObject{{Name: first, ETag: "etag-" + generation(content), Size: fmt.Sprint(len(content)), Generation: generation(content)}}
		page["nextPageToken"] = first
	}
	_ = json.NewEncoder(w).Encode(page)
}

func (g *fakeGoogle) media(w http.ResponseWriter, r *http.Request, escaped string) {
	name, err := url.PathUnescape(escaped)
	content, ok := g.objects[name]
	if wanted := r.URL.Query().Get("generation"); err != nil || !ok || r.URL.Query().Get("alt") != "media" || wanted != "" && wanted != generation(content) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	fmt.Fprint(w, content)
}

func (g *fakeGoogle) bucket(change func(*Bucket)) *Bucket {
	b := &Bucket{Provider: Google, Endpoint: g.Listener.Addr().String(), Name: bucketName, Insecure: true, Timeout: time.Minute,
		Credentials: map[string][]byte{"serviceaccount": g.account}}
	if change != nil {
		change(b)
	}
	return b
}

func TestGoogle(t *testing.T) {
	server := newGoogle(t, map[string]string{"a.tf": "a", "dir/b c?#%2F.tf": "bb", "x.md": "x", ".sourceignore": "*.md", "dir/": ""})
	tree := look(t, server.bucket(nil))
	if diff := cmp.Diff(map[string]string{"a.tf": "a", "dir/b c?#%2F.tf": "bb"}, fetched(t, tree)); diff != "" {
		t.Error(diff)
	}
	lines := "a.tf etag-1\ndir/b c?#%2F.tf etag-2\n"
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(lines))); tree.Revision != want {
		t.Errorf("revision %s, want %s", tree.Revision, want)
	}
	if only := fetched(t, look(t, server.bucket(func(b *Bucket) { b.Prefix = "dir/" }))); len(only) != 1 {
		t.Errorf("a prefix: %v", only)
	}
	server.objects["a.tf"] = "changed"
	wantFailure(t, tree.Fetch(t.Context(), t.TempDir()), reasonOperation, false, "it was changed or removed")
}

func TestAccessToGoogle(t *testing.T) {
	server, other := newGoogle(t, map[string]string{"a": "a"}), newGoogle(t, nil)
	foreign := strings.ReplaceAll(string(other.account), other.URL, server.URL)
	for sentence, c := range map[string]struct {
		change  func(*Bucket)
		reason  string
		message string
	}{
		"nobody":  {func(b *Bucket) { b.Credentials = nil }, reasonAuthentication, "the entry serviceaccount"},
		"no JSON": {func(b *Bucket) { b.Credentials = map[string][]byte{serviceAccount: []byte("hunter2")} }, reasonAuthentication, "the entry serviceaccount"},
		"another kind of key": {func(b *Bucket) {
			b.Credentials = map[string][]byte{serviceAccount: []byte(`{"type":"external_account"}`)}
		}, reasonAuthentication, "the entry serviceaccount"},
		"a key that is none": {func(b *Bucket) {
			b.Credentials = map[string][]byte{serviceAccount: []byte(`{"type":"service_account","private_key":"hunter2"}`)}
		}, reasonAuthentication, "not an RSA key in PEM"},
		"another's key":        {func(b *Bucket) { b.Credentials = map[string][]byte{serviceAccount: []byte(foreign)} }, reasonOperation, "the token service does not accept the credentials"},
		"a bucket that is not": {func(b *Bucket) { b.Name = "missing" }, reasonOperation, "404 Not Found: the bucket does not exist"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := New().Look(t.Context(), server.bucket(c.change), false)
			wantFailure(t, err, c.reason, false, c.message)
		})
	}
	_, err := New().Look(t.Context(), server.bucket(func(b *Bucket) { b.Endpoint = "https://storage.googleapis.com" }), false)
	wantFailure(t, err, reasonURLInvalid, true, "spec.endpoint must be a host")
	server.hang = true
	_, err = New().Look(t.Context(), server.bucket(func(b *Bucket) { b.Timeout = 200 * time.Millisecond }), false)
	wantFailure(t, err, reasonOperation, false, "it took longer than spec.timeout allows")
}
