// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/gateway/registry/access"
	"github.com/yuba-dev/yuba/internal/gateway/registry/providersapi"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/mirror"
	"github.com/yuba-dev/yuba/internal/registry/own"
)

// site is a registry with its own address, on a bucket in a directory.
type site struct {
	t      testing.TB
	bucket *blob.Plain
	dir    string
	*catalog.Catalog
	http   *httptest.Server
	server *registry.Server
	log    bytes.Buffer
	// reader reads acme, writer writes it, keeper changes its signing keys.
	reader, writer, keeper string
}

// newSite starts a registry; change adapts it.
func newSite(t testing.TB, change ...func(*site, *registry.Options)) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	ctx := context.WithoutCancel(t.Context())
	var err error
	check := func() {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s.bucket, err = blob.OpenPlain(ctx, "file://"+s.dir)
	check()
	t.Cleanup(func() { s.bucket.Close() })
	s.Catalog, err = catalog.Open(ctx, s.bucket, catalog.Options{Spool: t.TempDir()})
	check()
	providers, err := own.Open(ctx, s.bucket, own.Options{Spool: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	check()
	cache, err := mirror.Open(s.bucket, mirror.Options{Spool: t.TempDir(), Offline: true, Log: slog.New(slog.DiscardHandler)})
	check()
	var grants [3]access.Grant
	s.reader, grants[0], err = access.NewGrant("reader", access.Rights{Read: []string{"acme"}})
	check()
	s.writer, grants[1], err = access.NewGrant("writer", access.Rights{Write: []string{"acme"}})
	check()
	s.keeper, grants[2], err = access.NewGrant("keeper", access.Rights{Keys: []string{"acme"}})
	check()
	static, err := access.NewStatic(grants[:])
	check()
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.server.Handler().ServeHTTP(w, r) }))
	s.http.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	opts := registry.Options{Modules: s.Catalog, Providers: providers, Mirror: cache, Access: static, Key: []byte("a key for tests"), Login: registry.NewLogin(),
		Host: s.http.Listener.Addr().String(), Log: slog.New(slog.NewTextHandler(&s.log, nil))}
	opts.Management = map[string]http.Handler{registry.ResourceProviders: providersapi.Providers(providers, opts.Log), registry.ResourceSigningKeys: providersapi.SigningKeys(providers, opts.Log)}
	for _, c := range change {
		c(s, &opts)
	}
	s.server = registry.New(opts)
	s.http.StartTLS()
	t.Cleanup(s.http.Close)
	return s
}

func (s *site) host() string { return s.http.Listener.Addr().String() }

func moduleVersion(t testing.TB, text string) layout.ModuleVersion {
	t.Helper()
	v, err := layout.ParseModuleVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func packed(t testing.TB, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := archive.PackInline(map[string]string{"main.tf": text}, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// publish publishes a module with one output.
func (s *site) publish(name string) {
	s.t.Helper()
	text := fmt.Sprintf("output \"is\" {\n  value = %q\n}\n", name)
	if _, _, err := s.Publish(s.t.Context(), moduleVersion(s.t, name), bytes.NewReader(packed(s.t, text)), catalog.PublishOptions{By: "test"}); err != nil {
		s.t.Fatal(err)
	}
}

// ask sends a request, and returns the response with its body.
func (s *site) ask(method, path, token string, header ...string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.http.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := s.http.Client().Transport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, string(body)
}

// laptop is a directory of a user with a tool, who trusts the registry's certificate.
type laptop struct {
	t             testing.TB
	program, home string
	env           []string
}

func (s *site) laptop(program, token string) *laptop {
	s.t.Helper()
	l := &laptop{t: s.t, program: program, home: s.t.TempDir()}
	ca := filepath.Join(l.home, "ca.pem")
	l.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})))
	config := ""
	if token != "" {
		config = fmt.Sprintf("credentials %q {\n  token = %q\n}\n", s.host(), token)
	}
	l.write("tool.rc", config)
	l.env = []string{"HOME=" + l.home, "PATH=" + os.Getenv("PATH"), "SSL_CERT_FILE=" + ca, "TF_CLI_CONFIG_FILE=" + filepath.Join(l.home, "tool.rc"),
		"CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1"}
	return l
}

func (l *laptop) write(name, text string) {
	l.t.Helper()
	path := filepath.Join(l.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// run runs the tool in the home, and returns what it prints.
func (l *laptop) run(args ...string) (string, error) {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), l.program, args...)
	cmd.Dir, cmd.Env = l.home, l.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// oneLine joins the lines of a diagnostic, which the tools wrap.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(text)), " ")
}
