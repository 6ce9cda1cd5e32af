// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registryproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// get requests a URL, without following redirects.
func get(t *testing.T, method, url string) (status int, body string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer of-the-stack")
	answer, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

func TestOnlyTheDownloadReachesTheRegistry(t *testing.T) {
	asked := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the client's credential was forwarded")
		}
		switch r.URL.Path {
		case "/v1/modules/to/elsewhere":
			w.Header().Set("Location", "https://bucket.example.com/archive")
			w.WriteHeader(http.StatusFound)
		case "/v1/modules/to/admin":
			w.Header().Set("Location", "../../admin")
			w.WriteHeader(http.StatusFound)
		case "/v1/modules/to/neighbour":
			w.Header().Set("Location", "archive?signature=s")
			w.WriteHeader(http.StatusFound)
		default:
			fmt.Fprint(w, r.URL.String())
		}
	}
	p := started(t, served(t, http.HandlerFunc(asked)), Modules)
	base := "http://" + p.Address()
	for sentence, c := range map[string]struct {
		method, url string
		want        int
	}{
		"a module":                      {"GET", p.URL("/v1/modules/acme/vpc/aws/versions?a=b"), http.StatusOK},
		"the size of an archive":        {"HEAD", p.URL("/v1/modules/acme/vpc/aws/1.0.0/archive.tar.gz"), http.StatusOK},
		"a redirect to a neighbour":     {"GET", p.URL("/v1/modules/to/neighbour"), http.StatusFound},
		"a redirect to elsewhere":       {"GET", p.URL("/v1/modules/to/elsewhere"), http.StatusBadGateway},
		"a redirect to another path":    {"GET", p.URL("/v1/modules/to/admin"), http.StatusBadGateway},
		"without the secret":            {"GET", base + "/v1/modules/acme/vpc/aws/versions", http.StatusNotFound},
		"with another secret":           {"GET", base + "/" + strings.Repeat("A", 26) + "/v1/modules/acme/vpc/aws/versions", http.StatusNotFound},
		"something else":                {"GET", p.URL("/v1/providers/acme/thing/versions"), http.StatusNotFound},
		"the management API":            {"GET", p.URL("/apis/content.yuba.dev/v1alpha1/modules"), http.StatusNotFound},
		"a path that leaves modules":    {"GET", p.URL("/v1/modules/../providers/acme/thing/versions"), http.StatusNotFound},
		"the same, encoded":             {"GET", p.URL("/v1/modules/%2e%2e/providers/acme/thing/versions"), http.StatusNotFound},
		"a slash in a name":             {"GET", p.URL("/v1/modules/..%2Fproviders/acme"), http.StatusNotFound},
		"a request that changes things": {"POST", p.URL("/v1/modules/acme/vpc/aws/versions"), http.StatusMethodNotAllowed},
	} {
		if got, body, err := get(t, c.method, c.url); err != nil || got != c.want {
			t.Errorf("%s: %d %s %v, want %d", sentence, got, body, err, c.want)
		}
	}
	p.Close()
	if _, _, err := get(t, "GET", p.URL("/v1/modules/acme/vpc/aws/versions")); err == nil {
		t.Error("it answers after its download")
	}
}

// restarting is a server that ends in the middle of its first answers, and starts again.
type restarting struct {
	content []byte
	ranges  bool
	cuts    atomic.Int32
	asked   atomic.Int32
	other   bool // sends another file after a restart
}

func (s *restarting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(run.HeaderRegistry, "1")
	w.Header().Set("Etag", `"sha256:a"`)
	if s.asked.Add(1) > 1 && s.other {
		w.Header().Set("Etag", `"sha256:b"`)
	}
	if !s.ranges {
		r.Header.Del("Range")
	}
	if s.cuts.Add(-1) >= 0 {
		w.Header().Set("Content-Length", fmt.Sprint(len(s.content)))
		_, _ = w.Write(s.content[:len(s.content)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.content))
}

func TestADownloadContinuesAfterARestartOfTheServer(t *testing.T) {
	content := bytes.Repeat([]byte("a module, "), 100_000)
	for sentence, c := range map[string]struct {
		server *restarting
		whole  bool
	}{
		"with ranges":              {&restarting{content: content, ranges: true}, true},
		"without ranges":           {&restarting{content: content}, true},
		"another file than before": {&restarting{content: content, ranges: true, other: true}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.server.cuts.Store(1)
			server := httptest.NewServer(c.server)
			defer server.Close()
			down := int32(3)
			inner := opening(server)
			p := started(t, func(ctx context.Context, method, path string, header http.Header) (*http.Response, error) {
				if c.server.asked.Load() > 0 && atomic.AddInt32(&down, -1) >= 0 {
					return nil, fmt.Errorf("connection refused")
				}
				return inner(ctx, method, path, header)
			}, Modules)
			_, body, err := get(t, "GET", p.URL("/v1/modules/acme/vpc/aws/1.0.0/archive.tar.gz"))
			if c.whole && (err != nil || body != string(content)) {
				t.Errorf("%v, %d bytes of %d", err, len(body), len(content))
			}
			if !c.whole && (err == nil || len(p.Problems()) != 1 || !strings.Contains(p.Problems()[0], "changed in the middle")) {
				t.Errorf("%v %q", err, p.Problems())
			}
		})
	}
}

func TestWhenTheServerDoesNotAnswer(t *testing.T) {
	problem := func(status int, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(run.Problem{Message: message})
		}
	}
	for sentence, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
		quick   bool
	}{
		"the run is over":              {problem(http.StatusGone, "the run is over"), "the run is over", true},
		"a server without a registry":  {problem(http.StatusNotFound, "this server has no registry"), "this server has no registry", true},
		"a server that is starting":    {http.NotFound, "did not answer within", false},
		"a server that is overloaded":  {problem(http.StatusServiceUnavailable, "try again"), "try again", false},
		"a server that stops sending":  {stalls, "the answer ended early", false},
		"a server that dies at a time": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "did not answer within", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				c.handler(w, r)
			}))
			defer server.Close()
			defer server.CloseClientConnections()
			p := started(t, opening(server), Modules)
			p.patience = 300 * time.Millisecond
			status, body, err := get(t, "GET", p.URL("/v1/modules/acme/vpc/aws/versions"))
			if err == nil && status != http.StatusBadGateway {
				t.Errorf("%d %s", status, body)
			}
			if got := p.Problems(); len(got) != 1 || !strings.Contains(got[0], c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if n := asked.Load(); c.quick && n != 1 || !c.quick && n < 2 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// stalls sends a part of its answer and nothing more.
func stalls(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(run.HeaderRegistry, "1")
	w.Header().Set("Content-Length", "1000")
	if r.Header.Get("Range") != "" {
		w.Header().Set("Content-Range", "bytes 10-999/1000")
		w.WriteHeader(http.StatusPartialContent)
	} else {
		fmt.Fprint(w, "0123456789")
	}
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}
