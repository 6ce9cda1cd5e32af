// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package callhome_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/platform/callhome"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// secrets are those of the real API.
type secrets struct {
	client.Client
	// before is called before each write; may be nil.
	before func()
}

func (s secrets) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	found := &corev1.Secret{}
	return found, s.Client.Get(ctx, key, found)
}

func (s secrets) Update(ctx context.Context, changed *corev1.Secret) error {
	if s.before != nil {
		s.before()
	}
	return s.Client.Update(ctx, changed)
}

// world is a ticket in the real API, and a server of TLS.
type world struct {
	t       *testing.T
	api     client.Client
	key     types.NamespacedName
	token   string
	handler *callhome.Handler
	server  *httptest.Server
	log     *bytes.Buffer
	clock   atomic.Pointer[time.Time]
	before  func()
}

var began = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, api: apitest.Client(t), key: types.NamespacedName{Namespace: apitest.Namespace(t), Name: "acme-eu-1-kubeconfig"}, log: &bytes.Buffer{}}
	w.at(0)
	token, grant, err := callhome.New(began, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	w.token = token
	if err := w.api.Create(t.Context(), callhome.Secret(w.key.Namespace, w.key.Name, grant)); err != nil {
		t.Fatal(err)
	}
	w.handler = &callhome.Handler{Secrets: secrets{w.api, func() {
		if w.before != nil {
			w.before()
		}
	}}, Now: func() time.Time { return *w.clock.Load() }, Log: slog.New(slog.NewTextHandler(&lockedWriter{to: w.log}, nil))}
	w.server = httptest.NewTLSServer(w.handler)
	t.Cleanup(w.server.Close)
	return w
}

type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

func (w *world) at(since time.Duration) {
	now := began.Add(since)
	w.clock.Store(&now)
}

// put sends a body as a node does, and returns the answer's code and text.
func (w *world) put(token string, body []byte) (int, string) {
	w.t.Helper()
	return w.do(http.MethodPut, callhome.URL(w.server.URL, w.key.Namespace, w.key.Name), token, body)
}

func (w *world) do(method, url, token string, body []byte) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := w.server.Client().Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func (w *world) ticket() *corev1.Secret {
	w.t.Helper()
	s := &corev1.Secret{}
	if err := w.api.Get(w.t.Context(), w.key, s); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// kubeconfig is one of a server, as k3s writes it.
func (w *world) kubeconfig(server string) []byte {
	cert := fmt.Sprintf("-----BEGIN CERTIFICATE-----\n%s\n-----END CERTIFICATE-----\n", base64Of(w.server.Certificate().Raw))
	return []byte(fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: default, cluster: {server: %q, certificate-authority-data: %q}}]
users: [{name: default, user: {client-certificate-data: %q, client-key-data: %q}}]
contexts: [{name: default, context: {cluster: default, user: default}}]
current-context: default
`, server, base64Of([]byte(cert)), base64Of([]byte(cert)), base64Of([]byte("the key"))))
}

func TestANodeCallsHomeOnce(t *testing.T) {
	w := newWorld(t)
	if got := callhome.StateOf(w.ticket(), began); got != callhome.Waiting {
		t.Fatalf("a new ticket is %s", got)
	}
	for key, value := range w.ticket().Data {
		if bytes.Contains(value, []byte(w.token)) {
			t.Errorf("the ticket's key %s has the token itself", key)
		}
	}
	if code, text := w.put(w.token, w.kubeconfig("https://203.0.113.7:6443")); code != http.StatusNoContent {
		t.Fatalf("%d %s", code, text)
	}
	arrived := w.ticket()
	config, err := clientcmd.RESTConfigFromKubeConfig(arrived.Data[callhome.KubeconfigKey])
	if err != nil || config.Host != "https://203.0.113.7:6443" || string(config.KeyData) != "the key" {
		t.Fatalf("%v %v", config, err)
	}
	if len(arrived.Data) != 1 || callhome.StateOf(arrived, began.Add(48*time.Hour)) != callhome.Arrived {
		t.Errorf("the ticket keeps more than the kubeconfig: %d keys", len(arrived.Data))
	}
	// A replay changes nothing, whatever it brings.
	for range 2 {
		if code, text := w.put(w.token, w.kubeconfig("https://198.51.100.66:6443")); code != http.StatusUnauthorized {
			t.Fatalf("a replay: %d %s", code, text)
		}
	}
	if got := w.ticket().Data[callhome.KubeconfigKey]; !bytes.Equal(got, arrived.Data[callhome.KubeconfigKey]) {
		t.Error("a replay replaced the kubeconfig")
	}
	if strings.Contains(w.log.String(), w.token) || strings.Contains(w.log.String(), "the key") || !strings.Contains(w.log.String(), w.key.Name) {
		t.Error(w.log)
	}
}

func TestOneOfManyNodesWins(t *testing.T) {
	w := newWorld(t)
	const nodes = 8
	// All have shown the token before the first writes.
	var here sync.WaitGroup
	here.Add(nodes)
	var arrivals atomic.Int32
	w.before = func() {
		if arrivals.Add(1) <= nodes {
			here.Done()
			here.Wait()
		}
	}
	var codes [nodes]int
	var wait sync.WaitGroup
	for i := range nodes {
		wait.Go(func() {
			codes[i], _ = w.put(w.token, w.kubeconfig(fmt.Sprintf("https://203.0.113.%d:6443", i+1)))
		})
	}
	wait.Wait()
	winner := -1
	for i, code := range codes {
		switch {
		case code == http.StatusNoContent && winner < 0:
			winner = i
		case code != http.StatusUnauthorized:
			t.Errorf("node %d has the answer %d", i, code)
		}
	}
	if winner < 0 || !bytes.Contains(w.ticket().Data[callhome.KubeconfigKey], []byte(fmt.Sprintf("203.0.113.%d:", winner+1))) {
		t.Errorf("the answers are %v, and the kubeconfig is not the winner's", codes)
	}
}

// A label that somebody adds at the same moment does not cost the node its only call.
func TestAnUnrelatedChangeDoesNotRefuseANode(t *testing.T) {
	w := newWorld(t)
	var once sync.Once
	w.before = func() {
		once.Do(func() {
			s := w.ticket()
			s.Labels["team"] = "blue"
			if err := w.api.Update(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
	if code, text := w.put(w.token, w.kubeconfig("https://203.0.113.7:6443")); code != http.StatusNoContent {
		t.Fatalf("%d %s", code, text)
	}
	if s := w.ticket(); s.Labels["team"] != "blue" || callhome.StateOf(s, began) != callhome.Arrived {
		t.Error(s.Labels, s.Annotations)
	}
}

func TestWhatIsRefused(t *testing.T) {
	w := newWorld(t)
	good := w.kubeconfig("https://203.0.113.7:6443")
	own := callhome.URL(w.server.URL, w.key.Namespace, w.key.Name)
	if err := w.api.Create(t.Context(), &corev1.Secret{ObjectMeta: objectMeta(w.key.Namespace, "other"), StringData: map[string]string{"token-sha256": strings.Repeat("a", 64)}}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		method, url, token string
		body               []byte
		want               int
	}{
		"a forged token":                     {http.MethodPut, own, strings.Repeat("A", 43), good, http.StatusUnauthorized},
		"no token":                           {http.MethodPut, own, "", good, http.StatusUnauthorized},
		"the hash instead of the token":      {http.MethodPut, own, string(w.ticket().Data["token-sha256"]), good, http.StatusUnauthorized},
		"a ticket that is not there":         {http.MethodPut, callhome.URL(w.server.URL, w.key.Namespace, "missing"), w.token, good, http.StatusUnauthorized},
		"a Secret that is not a ticket":      {http.MethodPut, callhome.URL(w.server.URL, w.key.Namespace, "other"), w.token, good, http.StatusUnauthorized},
		"a name that is not one":             {http.MethodPut, w.server.URL + callhome.Path + "A_B/x", w.token, good, http.StatusNotFound},
		"another ticket by a path with dots": {http.MethodPut, w.server.URL + callhome.Path + w.key.Namespace + "/%2e%2e/x", w.token, good, http.StatusNotFound},
		"a read":                             {http.MethodGet, own, w.token, nil, http.StatusMethodNotAllowed},
		"an oversized body":                  {http.MethodPut, own, w.token, append(good, bytes.Repeat([]byte("#"), callhome.MaxKubeconfig)...), http.StatusRequestEntityTooLarge},
		"what is not a kubeconfig":           {http.MethodPut, own, w.token, []byte("{"), http.StatusUnprocessableEntity},
		"an empty body":                      {http.MethodPut, own, w.token, nil, http.StatusUnprocessableEntity},
	} {
		if code, text := w.do(test.method, test.url, test.token, test.body); code != test.want {
			t.Errorf("%s: %d %s, want %d", name, code, text, test.want)
		}
	}
	if got := callhome.StateOf(w.ticket(), began); got != callhome.Waiting {
		t.Errorf("after all refusals the ticket is %s", got)
	}
	w.at(time.Hour)
	if code, text := w.put(w.token, good); code != http.StatusGone || !strings.Contains(text, "expired at 2026-11-28T13:00:00Z") {
		t.Errorf("an expired token: %d %s", code, text)
	}
	if got := callhome.StateOf(w.ticket(), began.Add(time.Hour)); got != callhome.Expired {
		t.Errorf("the ticket is %s", got)
	}
	// A new grant for the same ticket: only its token works.
	token, grant, err := callhome.New(began.Add(time.Hour), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	s := w.ticket()
	callhome.Renew(s, grant)
	if err := w.api.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if code, text := w.put(w.token, good); code != http.StatusUnauthorized {
		t.Errorf("the token before the renewal: %d %s", code, text)
	}
	if code, text := w.put(token, good); code != http.StatusNoContent {
		t.Errorf("the renewed token: %d %s", code, text)
	}
}

// Strangers cannot make the server read: the answer comes before the body.
func TestABodyWithoutATokenIsNotRead(t *testing.T) {
	w := newWorld(t)
	read := false
	r := httptest.NewRequest(http.MethodPut, callhome.Path+w.key.Namespace+"/"+w.key.Name, readerFunc(func([]byte) (int, error) {
		read = true
		return 0, io.EOF
	}))
	r.Header.Set("Authorization", "Bearer wrong")
	answer := httptest.NewRecorder()
	w.handler.ServeHTTP(answer, r)
	if answer.Code != http.StatusUnauthorized || read {
		t.Errorf("%d, read: %v", answer.Code, read)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
