// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/kit/listener"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// archiveLink is the signed path of a module's archive.
func archiveLink(t *testing.T, header http.Header) string {
	t.Helper()
	location, ok := strings.CutPrefix(header.Get("X-Terraform-Get"), "./")
	if !ok {
		t.Fatalf("no location in %v", header)
	}
	return "/v1/modules/acme/vpc/aws/1.2.0/" + location
}

func TestADownloadThatHasBegunGoesOnAfterItsSignature(t *testing.T) {
	var late atomic.Int64
	begin := time.Unix(1_800_000_000, 0)
	s := newSite(t, func(_ *site, o *registry.Options) {
		o.Now = func() time.Time { return begin.Add(time.Duration(late.Load())) }
	})
	random := make([]byte, 8<<20) // more than sockets buffer
	rand.Read(random)
	var packed bytes.Buffer
	if _, err := archive.PackInline(map[string]string{"main.tf": "# large\n", "data.txt": hex.EncodeToString(random)}, &packed); err != nil {
		t.Fatal(err)
	}
	size := packed.Len()
	if _, _, err := s.Publish(t.Context(), moduleVersion(t, "acme/vpc/aws@1.2.0"), &packed, catalog.PublishOptions{By: "test"}); err != nil {
		t.Fatal(err)
	}
	answer, _ := s.ask("GET", "/v1/modules/acme/vpc/aws/1.2.0/download", s.reader)
	path := archiveLink(t, answer.Header)
	r, err := s.http.Client().Get(s.http.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if _, err := io.CopyN(io.Discard, r.Body, 1000); err != nil {
		t.Fatal(err)
	}
	late.Store(int64(24 * time.Hour))
	if n, err := io.Copy(io.Discard, r.Body); err != nil || n != int64(size-1000) {
		t.Errorf("%d of %d bytes, %v", n+1000, size, err)
	}
	if again, _ := s.ask("GET", path, ""); again.StatusCode != http.StatusForbidden {
		t.Errorf("another download: %s", again.Status)
	}
}

// Runs resume cut downloads for long, with addresses that nobody else can use.
func TestTheSignaturesOfARunAreForItOnly(t *testing.T) {
	var late atomic.Int64
	begin := time.Unix(1_800_000_000, 0)
	s := newSite(t, func(_ *site, o *registry.Options) {
		o.Now = func() time.Time { return begin.Add(time.Duration(late.Load())) }
		o.Anonymous = true
	})
	s.publish("acme/vpc/aws@1.2.0")
	as := func(namespace, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.server.ServeAs(registry.ServiceAccount(namespace, "tf-runner")).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	ofRun := archiveLink(t, as("shop", "/v1/modules/acme/vpc/aws/1.2.0/download").Header())
	anybody, _ := s.ask("GET", "/v1/modules/acme/vpc/aws/1.2.0/download", "")
	ofAnybody := archiveLink(t, anybody.Header)
	late.Store(int64(30 * time.Minute))
	if got := as("shop", ofRun); got.Code != http.StatusOK {
		t.Errorf("the run, later: %d %s", got.Code, got.Body)
	}
	late.Store(0)
	if got := as("blog", ofRun); got.Code != http.StatusForbidden {
		t.Errorf("another namespace's run: %d", got.Code)
	}
	if got, _ := s.ask("GET", ofRun, s.writer); got.StatusCode != http.StatusForbidden {
		t.Errorf("at the registry's address: %s", got.Status)
	}
	if got := as("shop", ofAnybody); got.Code != http.StatusForbidden {
		t.Errorf("a run, with another address: %d", got.Code)
	}
	if got, _ := s.ask("GET", ofAnybody, ""); got.StatusCode != http.StatusOK {
		t.Errorf("without a token: %s", got.Status)
	}
}

// Caches between the client and the registry must keep neither links nor archives.
func TestNoSharedCacheKeepsWhatNeedsRights(t *testing.T) {
	s := newSite(t)
	s.publish("acme/vpc/aws@1.2.0")
	link, _ := s.ask("GET", "/v1/modules/acme/vpc/aws/1.2.0/download", s.reader)
	if got := link.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("the link: %q", got)
	}
	file, _ := s.ask("GET", archiveLink(t, link.Header), "")
	if got := file.Header.Get("Cache-Control"); !strings.Contains(got, "private") {
		t.Errorf("the archive: %q", got)
	}
	refused, _ := s.ask("GET", strings.Replace(archiveLink(t, link.Header), "/archive/", "/archive/9", 1), "")
	if got := refused.Header.Get("Cache-Control"); refused.StatusCode != http.StatusForbidden || got != "no-store" {
		t.Errorf("a refusal: %s, %q", refused.Status, got)
	}
}

// failing are modules whose archives break off.
type failing struct{ *catalog.Catalog }

func (f failing) Archive(ctx context.Context, v layout.ModuleVersion) (io.ReadCloser, catalog.Release, error) {
	content, release, err := f.Catalog.Archive(ctx, v)
	if err == nil {
		content.Close()
		content = io.NopCloser(io.MultiReader(strings.NewReader("some"), iotest.ErrReader(errors.New("the bucket is gone"))))
	}
	return content, release, err
}

// A signature is as good as a token for a while: no log has it, whatever becomes of the request.
func TestNoLogHasASignature(t *testing.T) {
	var ofServer bytes.Buffer
	s := newSite(t, func(s *site, o *registry.Options) {
		o.Modules = failing{s.Catalog}
		s.http.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(&ofServer, nil), slog.LevelError)
	})
	s.publish("acme/vpc/aws@1.2.0")
	link, _ := s.ask("GET", "/v1/modules/acme/vpc/aws/1.2.0/download", s.reader)
	path := archiveLink(t, link.Header)
	for _, header := range []http.Header{{}, {"Authorization": {"Bearer nonsense"}}} {
		for method, path := range map[string]string{http.MethodGet: path, http.MethodPost: path, http.MethodHead: strings.Replace(path, "/archive/", "/archive/9", 1)} {
			r, err := http.NewRequestWithContext(t.Context(), method, s.http.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header = header
			if answer, err := s.http.Client().Do(r); err == nil {
				io.Copy(io.Discard, answer.Body) //nolint:errcheck // it breaks off
				answer.Body.Close()
			}
		}
	}
	s.http.Close()
	signature := strings.Split(path, "/")[8]
	if _, mac, _ := strings.Cut(signature, "-"); len(mac) < 40 {
		t.Fatalf("%q is not the signature of %s", signature, path)
	}
	logged := s.log.String() + ofServer.String()
	if strings.Contains(logged, signature) || !strings.Contains(logged, "sending a file failed") {
		t.Errorf("the logs:\n%s", logged)
	}
}

// Strangers whom an open registry answers must not take the places of users with a token.
func TestOnlyATokenMakesAConnectionKnown(t *testing.T) {
	s := newSite(t, func(_ *site, o *registry.Options) { o.Anonymous = true })
	s.publish("acme/vpc/aws@1.2.0")
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const places = 2
	connections := listener.New(inner, listener.Limits{Total: places, PerAddress: places})
	server := &http.Server{Handler: listener.Knowing(connections, s.server.Handler()), ReadHeaderTimeout: time.Minute}
	go server.Serve(connections)
	t.Cleanup(func() { server.Close() })
	ask := func(c *http.Client, path, token string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+inner.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := c.Do(r)
		if err == nil {
			_, err = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		return answer, err
	}
	dial := func() *http.Client {
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport, Timeout: 20 * time.Second}
	}
	for range places {
		stranger := dial()
		link, err := ask(stranger, "/v1/modules/acme/vpc/aws/1.2.0/download", "")
		if err != nil || link.StatusCode != http.StatusOK {
			t.Fatal(link, err)
		}
		if file, err := ask(stranger, archiveLink(t, link.Header), ""); err != nil || file.StatusCode != http.StatusOK {
			t.Fatal(file, err)
		}
	}
	// Users with a token replace them, and keep their own places.
	var users []*http.Client
	for range places {
		user := dial()
		if answer, err := ask(user, "/v1/modules/acme/vpc/aws/versions", s.reader); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("a user: %v", err)
		}
		users = append(users, user)
	}
	if _, err := ask(dial(), "/v1/modules/acme/vpc/aws/versions", ""); err == nil {
		t.Error("a stranger got the place of a user")
	}
	for _, user := range users {
		if _, err := ask(user, "/v1/modules/acme/vpc/aws/versions", s.reader); err != nil {
			t.Errorf("a user again: %v", err)
		}
	}
}
