// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registryproxy

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// ownHost is a host that resolves to nothing.
const ownHost = "registry.yuba.invalid:7445"

// served is a server of runs whose registry is a handler.
func served(t *testing.T, h http.Handler) Open {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(run.HeaderRegistry, "1")
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return opening(server)
}

func opening(server *httptest.Server) Open {
	return func(ctx context.Context, method, path string, header http.Header) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, method, server.URL+path, nil)
		if err != nil {
			return nil, err
		}
		r.Header = header.Clone()
		return http.DefaultTransport.RoundTrip(r)
	}
}

// started is a proxy that ends with the test.
func started(t *testing.T, open Open, paths ...string) *Proxy {
	t.Helper()
	p, err := Start(open, paths...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// initialize runs init of a program with a CLI configuration, in a new directory.
func initialize(t *testing.T, tool, program, config string) (dir, out string, err error) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"main.tf": program, "tofu.rc": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(tool, "init", "-no-color", "-input=false")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=" + filepath.Join(dir, "tofu.rc"), "TF_REGISTRY_DISCOVERY_RETRY=0"}
	text, err := cmd.CombinedOutput()
	return dir, string(text), err
}

func hostBlock(host string, services ...string) string {
	text := fmt.Sprintf("host %q {\n  services = {\n", host)
	for i := 0; i < len(services); i += 2 {
		text += fmt.Sprintf("    %q = %q\n", services[i], services[i+1])
	}
	return text + "  }\n}\n"
}

// toolsHere are the real tofu, and the machine's terraform if there is one.
func toolsHere(t *testing.T) map[string]string {
	tools := map[string]string{"tofu": tofutest.Tofu(t)}
	if path, err := exec.LookPath("terraform"); err == nil {
		tools["terraform"] = path
	}
	return tools
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheToolsInstallThroughIt(t *testing.T) {
	r := registrytest.New(t)
	r.Publish("acme/thing", "1.2.3", registrytest.Program("thing", "1.2.3"))
	r.PublishModule("acme/net/test", "1.0.3", map[string][]byte{"main.tf": []byte("output \"edition\" {\n  value = \"1.0.3\"\n}\n")})
	own, other := r.Hashes("acme/thing", "1.2.3")
	for name, tool := range toolsHere(t) {
		t.Run(name, func(t *testing.T) {
			p := started(t, served(t, r.Relative()), Modules, Providers)
			program := fmt.Sprintf("terraform {\n  required_providers {\n    thing = { source = %q }\n  }\n}\nmodule \"net\" {\n  source  = %q\n  version = \"~> 1.0\"\n}\n", ownHost+"/acme/thing", ownHost+"/acme/net/test")
			dir, out, err := initialize(t, tool, program, hostBlock(ownHost, "modules.v1", p.URL(Modules), "providers.v1", p.URL(Providers)))
			if err != nil || !strings.Contains(out, ownHost+"/acme/thing v1.2.3") {
				t.Fatalf("%v\n%s", err, out)
			}
			if text := read(t, filepath.Join(dir, ".terraform/modules/net/main.tf")); !strings.Contains(text, "1.0.3") {
				t.Errorf("module: %s", text)
			}
			lock := read(t, filepath.Join(dir, ".terraform.lock.hcl"))
			if !strings.Contains(lock, own) || !strings.Contains(lock, other) || !strings.Contains(lock, "\"h1:") {
				t.Errorf("lock file:\n%s", lock)
			}
		})
		t.Run(name+", a provider of a public registry", func(t *testing.T) {
			public := map[string]string{"tofu": "registry.opentofu.org", "terraform": "registry.terraform.io"}[name]
			p := started(t, served(t, r.Relative()), Upstream(public))
			program := "terraform {\n  required_providers {\n    thing = { source = \"acme/thing\" }\n  }\n}\n"
			dir, out, err := initialize(t, tool, program, hostBlock(public, "providers.v1", p.URL(Upstream(public))))
			if err != nil || !strings.Contains(out, "Installed acme/thing v1.2.3 (") {
				t.Fatalf("%v\n%s", err, out)
			}
			lock := read(t, filepath.Join(dir, ".terraform.lock.hcl"))
			if !strings.Contains(lock, public+"/acme/thing") || !strings.Contains(lock, own) || !strings.Contains(lock, other) {
				t.Errorf("lock file:\n%s", lock)
			}
		})
		t.Run(name+", a tampered archive", func(t *testing.T) {
			bad := registrytest.New(t)
			bad.Publish("acme/thing", "2.0.0", registrytest.Program("thing", "2.0.0"), registrytest.Tampered)
			p := started(t, served(t, bad.Relative()), Providers)
			program := fmt.Sprintf("terraform {\n  required_providers {\n    thing = { source = %q }\n  }\n}\n", ownHost+"/acme/thing")
			_, out, err := initialize(t, tool, program, hostBlock(ownHost, "providers.v1", p.URL(Providers)))
			if err == nil || !strings.Contains(out, "checksum") {
				t.Fatalf("%v\n%s", err, out)
			}
		})
		t.Run(name+", without the right to read", func(t *testing.T) {
			denied := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, `{"errors":["system:serviceaccount:b:tf-runner cannot get modules of acme"]}`)
			})
			p := started(t, served(t, denied), Modules)
			program := fmt.Sprintf("module \"net\" {\n  source  = %q\n  version = \"~> 1.0\"\n}\n", ownHost+"/acme/net/test")
			_, out, err := initialize(t, tool, program, hostBlock(ownHost, "modules.v1", p.URL(Modules)))
			if err == nil {
				t.Fatal(out)
			}
			want := "This server's registry answered 403 Forbidden for /v1/modules/acme/net/test/versions: system:serviceaccount:b:tf-runner cannot get modules of acme"
			if got := p.Problems(); len(got) != 1 || got[0] != want {
				t.Errorf("%q\n%s", got, out)
			}
		})
	}
}
