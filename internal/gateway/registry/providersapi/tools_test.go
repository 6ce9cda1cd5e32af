// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providersapi_test

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/gateway/registry/providersapi"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/mirror"
	"github.com/yuba-dev/yuba/internal/registry/own"
	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// site is a registry in front of an origin.
type site struct {
	t      testing.TB
	origin *registrytest.Registry
	http   *httptest.Server
	client *content.Client
	ca     string
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{t: t, origin: registrytest.New(t)}
	bucket, err := blob.OpenPlain(t.Context(), "file://"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bucket.Close() })
	roots := x509.NewCertPool()
	originCA, err := os.ReadFile(s.origin.CAFile(t.TempDir()))
	if err != nil || !roots.AppendCertsFromPEM(originCA) {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	providers, err := own.Open(t.Context(), bucket, own.Options{Spool: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := mirror.Open(bucket, mirror.Options{Spool: t.TempDir(), Roots: roots, Allow: []string{s.origin.Host() + "/*/*"}})
	if err != nil {
		t.Fatal(err)
	}
	s.http = httptest.NewUnstartedServer(nil)
	s.http.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	server := registry.New(registry.Options{Providers: providers, Mirror: pulled, Access: everybody{}, Anonymous: true, AnonymousMirror: true, Key: []byte("key"), Host: s.http.Listener.Addr().String(), Log: log,
		Management: map[string]http.Handler{registry.ResourceProviders: providersapi.Providers(providers, log), registry.ResourceSigningKeys: providersapi.SigningKeys(providers, log), registry.ResourceMirror: providersapi.Mirror(pulled, log)}})
	s.http.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, content.PathPrefix) {
			server.Manager().ServeHTTP(w, r)
			return
		}
		server.ServeAs(registry.Anonymous()).ServeHTTP(w, r)
	})
	s.http.StartTLS()
	t.Cleanup(s.http.Close)
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
	s.ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(s.ca, own, 0o600); err != nil {
		t.Fatal(err)
	}
	s.client, err = content.NewClient(&rest.Config{Host: s.http.URL, TLSClientConfig: rest.TLSClientConfig{CAData: own}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// everybody may do everything.
type everybody struct{ registry.Access }

// initialise has a real tool install a provider.
func (s *site) initialise(tool, source, config string) (string, string, error) {
	s.t.Helper()
	dir := s.t.TempDir()
	program := "terraform {\n  required_providers {\n    x = { source = \"" + source + "\" }\n  }\n}\n"
	for name, text := range map[string]string{"main.tf": program, "tofu.rc": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	cmd := exec.Command(tool, "init", "-no-color")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SSL_CERT_FILE=" + s.ca, "TF_CLI_CONFIG_FILE=" + filepath.Join(dir, "tofu.rc"), "TF_REGISTRY_DISCOVERY_RETRY=0", "CHECKPOINT_DISABLE=1"}
	out, err := cmd.CombinedOutput()
	lock, _ := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl"))
	return string(out), string(lock), err
}

// tools are the real tofu, and terraform if the machine has it.
func tools(t testing.TB) map[string]string {
	found := map[string]string{"tofu": tofutest.Tofu(t)}
	if path, err := exec.LookPath("terraform"); err == nil {
		found["terraform"] = path
	}
	return found
}

// upstream is the configuration in which a tool asks the mirror in place of the origin.
func (s *site) upstream() string {
	return fmt.Sprintf("host %q {\n  services = {\n    \"providers.v1\" = \"%s/v1/upstream/%s/\"\n  }\n}\n", s.origin.Host(), s.http.URL, s.origin.Host())
}

func TestToolsInstallFromAnOriginThroughTheMirror(t *testing.T) {
	for name, tool := range tools(t) {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.origin.Publish("acme/thing", "1.2.3", registrytest.Program("thing", "1.2.3"))
			out, lock, err := s.initialise(tool, s.origin.Source("acme/thing"), s.upstream())
			if err != nil || !strings.Contains(out, "Installed "+s.origin.Source("acme/thing")+" v1.2.3 (") || !strings.Contains(out, "key ID") {
				t.Fatalf("%v %s", err, out)
			}
			zh, other := s.origin.Hashes("acme/thing", "1.2.3")
			if !strings.Contains(lock, zh) || !strings.Contains(lock, other) {
				t.Errorf("the lock file: %s", lock)
			}
			// The origin is down: the same works, and with the hashes of the content.
			s.origin.Break("/", faulttest.Unreachable)
			if out, _, err := s.initialise(tool, s.origin.Source("acme/thing"), s.upstream()); err != nil {
				t.Errorf("%v %s", err, out)
			}
			if n := s.origin.Counts().Archives; n != 1 {
				t.Errorf("%d downloads", n)
			}
		})
	}
}

func TestToolsDoNotGetWhatTheMirrorRefuses(t *testing.T) {
	for name, fault := range map[string]registrytest.Fault{"checksum": registrytest.Tampered, "signature": registrytest.Forged} {
		for toolName, tool := range tools(t) {
			s := newSite(t)
			s.origin.Publish("acme/thing", "1.2.3", registrytest.Program("thing", "1.2.3"), fault)
			if out, _, err := s.initialise(tool, s.origin.Source("acme/thing"), s.upstream()); err == nil {
				t.Errorf("%s, a wrong %s: %s", toolName, name, out)
			}
		}
	}
}

func TestAProviderOfOnesOwnFromPushToInit(t *testing.T) {
	s := newSite(t)
	signer := registrytest.NewSigner(t, time.Now().Add(-time.Hour), 0)
	if _, err := s.client.PublishProvider(t.Context(), one, s.upload(signer)); err == nil || !strings.Contains(err.Error(), "has no signing keys") {
		t.Errorf("without a key: %v", err)
	}
	key, err := s.client.AddSigningKey(t.Context(), "acme", []byte(signer.Armor))
	if err != nil || key.ID != signer.ID() {
		t.Fatalf("%+v, %v", key, err)
	}
	other := registrytest.NewSigner(t, time.Now().Add(-time.Hour), 0)
	if _, err := s.client.PublishProvider(t.Context(), one, s.upload(other)); err == nil || !strings.Contains(err.Error(), "signed by a key that is not one of") {
		t.Errorf("another key: %v", err)
	}
	upload := s.upload(signer)
	done, err := s.client.PublishProvider(t.Context(), one, upload)
	if err != nil || !done.Changed || done.Release.Signer == "" {
		t.Fatalf("%+v, %v", done, err)
	}
	if again, err := s.client.PublishProvider(t.Context(), one, upload); err != nil || again.Changed {
		t.Errorf("again: %+v, %v", again, err)
	}
	list, err := s.client.RegistryProviders(t.Context(), "")
	if err != nil || len(list.Items) != 1 || list.Items[0].Provider != "acme/thing" {
		t.Errorf("%+v, %v", list, err)
	}
	for name, tool := range tools(t) {
		out, lock, err := s.initialise(tool, s.http.Listener.Addr().String()+"/acme/thing", "")
		if err != nil || !strings.Contains(out, "v1.0.0 (") {
			t.Errorf("%s: %v %s", name, err, out)
		}
		for _, hash := range done.Release.Packages[runtime.GOOS+"_"+runtime.GOARCH].Hashes {
			if !strings.Contains(lock, hash) {
				t.Errorf("%s: the lock file has no %s: %s", name, hash, lock)
			}
		}
	}
	if _, err := s.client.RemoveSigningKey(t.Context(), "acme", signer.ID()); err != nil {
		t.Error(err)
	}
}

var one = layout.ProviderVersion{Provider: layout.Provider{Namespace: "acme", Name: "thing"}, Version: "1.0.0"}

// upload is a signed release for this platform and another one.
func (s *site) upload(signer *registrytest.Signer) *bytes.Reader {
	s.t.Helper()
	files := map[string][]byte{}
	for _, p := range []layout.Platform{{OS: runtime.GOOS, Arch: runtime.GOARCH}, {OS: "plan9", Arch: "riscv64"}} {
		files[one.Archive(p)] = registrytest.Zip(s.t, registrytest.Program("thing", one.Version+p.String()))
	}
	files[one.Sums()] = []byte(registrytest.Sums(files))
	files[one.Signature()] = signer.Sign(s.t, files[one.Sums()], time.Now().Add(-time.Minute))
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, data := range files {
		_, err := func() (int, error) {
			if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(data)), Typeflag: tar.TypeReg}); err != nil {
				return 0, err
			}
			return w.Write(data)
		}()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close()); err != nil {
		s.t.Fatal(err)
	}
	return bytes.NewReader(out.Bytes())
}

func TestManageTheMirror(t *testing.T) {
	s := newSite(t)
	s.origin.Publish("acme/thing", "1.2.3", registrytest.Program("thing", "1.2.3"))
	if out, _, err := s.initialise(tofutest.Tofu(t), s.origin.Source("acme/thing"), s.upstream()); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	list, err := s.client.Mirror(t.Context())
	if err != nil || len(list.Items) != 1 || list.Items[0].Version != "1.2.3" {
		t.Fatalf("%+v, %v", list, err)
	}
	p, err := layout.ParseProvider(s.origin.Source("acme/thing"))
	if err != nil {
		t.Fatal(err)
	}
	if removed, err := s.client.RemoveMirrored(t.Context(), p, "1.2.3"); err != nil || len(removed.Items) != 1 {
		t.Errorf("%+v, %v", removed, err)
	}
	if _, err := s.client.RemoveMirrored(t.Context(), p, "1.2.3"); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("%v", err)
	}
	if _, err := s.client.ImportMirror(t.Context(), strings.NewReader("nonsense"), false, false); err == nil || !strings.Contains(err.Error(), "import into the mirror") {
		t.Errorf("%v", err)
	}
}
