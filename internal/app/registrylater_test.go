// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	gateway "github.com/yuba-dev/yuba/internal/gateway/registry"
)

// TestRegistryOpensItsBucketWhenItIsReachable starts before the S3 server of the bucket.
func TestRegistryOpensItsBucketWhenItIsReachable(t *testing.T) {
	s3, err := filepath.Abs("../../bin/versitygw")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s3); err != nil {
		t.Skip("needs an S3 server: make bin/versitygw")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	log := slog.New(slog.DiscardHandler)
	place := registryPlace{spool: t.TempDir(), log: log, later: true}
	place.opts.Store = "s3://registry?region=us-east-1&use_path_style=true&endpoint=http://" + address
	r, err := openRegistryParts(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.close() })
	_, unreachable := r.load(t.Context(), firstLoad, log)
	if unreachable == nil {
		t.Fatal("a bucket without a server was listed")
	}
	r.server = gateway.New(gateway.Options{Modules: r.modules, Providers: r.providers, Mirror: r.mirror, Access: nobodyIsKnown{}, Anonymous: true,
		Unavailable: unreachable, Management: r.management(log)})
	protocols := r.server.ServeAs(gateway.Identity{Name: "alice"})
	expect := func(h http.Handler, path string, status int, text string) {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != status || !strings.Contains(w.Body.String(), text) {
			t.Errorf("%s: %d %s, want %d with %q", path, w.Code, w.Body, status, text)
		}
	}
	const versions = "/v1/modules/acme/vpc/aws/versions"
	expect(protocols, versions, 503, "list the modules of the registry")
	expect(protocols, "/.well-known/terraform.json", 200, "modules.v1")
	expect(r.server.Manager(), content.PathPrefix+"/modules", 503, "list the modules of the registry")
	expect(r.server.Manager(), content.PathPrefix+"/providers", 503, "list the modules of the registry")
	// Strangers do not see the addresses of a private network.
	expect(r.server.Handler(), versions, 503, "its log says why")

	data := t.TempDir()
	if err := os.Mkdir(filepath.Join(data, "registry"), 0o700); err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), s3, "--port", address, "--access", "test", "--secret", "test-secret", "posix", "--sidecar", t.TempDir(), data)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if !r.loadLater(ctx, 10*time.Millisecond, log) {
		t.Fatal("the bucket was not opened in a minute")
	}
	expect(protocols, versions, 404, "acme/vpc/aws")
	expect(r.server.Manager(), content.PathPrefix+"/modules", 200, "items")
	expect(r.server.Manager(), content.PathPrefix+"/providers", 200, "")
	if _, err := os.Stat(filepath.Join(data, "registry", urlKey)); err != nil {
		t.Error(err)
	}
}

// nobodyIsKnown knows no token and allows everything.
type nobodyIsKnown struct{}

func (nobodyIsKnown) Identify(context.Context, string) (gateway.Identity, error) {
	return gateway.Identity{}, gateway.ErrUnknownToken
}

func (nobodyIsKnown) May(context.Context, gateway.Identity, gateway.Action) (bool, string, error) {
	return true, "", nil
}
