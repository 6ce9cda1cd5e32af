// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package airgap

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/cli"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
	"github.com/yuba-dev/yuba/internal/testkit/releasetest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
	"github.com/yuba-dev/yuba/test/cloud"
)

// patience is the timeout for a start and for a run, which take seconds on an idle machine.
const patience = 2 * time.Minute

// programs is the directory with the programs under test.
var programs string

func TestMain(m *testing.M) {
	os.Exit(tofutest.Main(cli.Main, func(dir string) int {
		programs = dir
		return m.Run()
	}))
}

// yuba is a command. PATH has no tofu.
func yuba(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(programs, "yuba"), args...)
	cmd.Env = append([]string{"PATH=" + programs, "HOME=" + programs}, env...)
	return cmd
}

// origin has what the bundle is made of, outside the island: a release of OpenTofu and a provider.
type origin struct {
	releases *releasetest.Releases
	registry *registrytest.Registry
	source   string
	dir      string
}

const providerVersion = "1.0.0"

func newOrigin(t *testing.T) *origin {
	t.Helper()
	o := &origin{releases: releasetest.New(t), registry: registrytest.New(t), dir: t.TempDir()}
	tofu, err := os.ReadFile(tofutest.Tofu(t))
	if err != nil {
		t.Fatal(err)
	}
	o.releases.Publish(opentofu.Pinned, tofu)
	if err := tofutest.BuildProvider(filepath.Join(o.dir, "built")); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join(o.dir, "built", "registry.opentofu.org", "yuba-dev", "yubatest", tofutest.ProviderVersion,
		runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-yubatest_v"+tofutest.ProviderVersion))
	if err != nil {
		t.Fatal(err)
	}
	o.registry.Publish("acme/yubatest", providerVersion, map[string][]byte{"terraform-provider-yubatest_v" + providerVersion: program})
	o.source = o.registry.Source("acme/yubatest")
	return o
}

// bundle packs a bundle, and returns its path and its digest.
func (o *origin) bundle(t *testing.T) (path, digest string) {
	t.Helper()
	lock := filepath.Join(o.dir, ".terraform.lock.hcl")
	hash, _ := o.registry.Hashes("acme/yubatest", providerVersion)
	text := fmt.Sprintf("provider %q {\n  version = %q\n  hashes  = [%q]\n}\n", o.source, providerVersion, hash)
	if err := os.WriteFile(lock, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(o.dir, "bundle.tar")
	cmd := yuba([]string{"SSL_CERT_FILE=" + o.registry.CAFile(o.dir)}, "bundle", "create", "--lock-file", lock, "--allow", o.registry.Host()+"/*/*",
		"--tools-url", o.releases.URL, "--tools-key", o.releases.KeyFile, "-o", path)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("create a bundle: %v\n%s", err, errorsOf(err))
	}
	return path, strings.TrimSpace(string(out))
}

func errorsOf(err error) string {
	if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // that of Output, unwrapped
		return string(exit.Stderr)
	}
	return ""
}

// stack is a stack with an object of a cloud, in a provider that only the bundle has.
func (o *origin) stack(c *cloud.Cloud) string {
	return fmt.Sprintf(`apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: inside, namespace: default}
spec:
  interval: 1h
  retryInterval: 1s
  approvePlan: auto
  env:
  - {name: YUBATEST_ENDPOINT, value: %q}
  - {name: YUBATEST_TOKEN, value: %q}
  inline:
    main.tf: |
      terraform {
        required_providers {
          yubatest = { source = %q }
        }
      }
      resource "yubatest_object" "a" {
        name    = "a"
        content = "from the bundle"
      }
`, c.URL(), c.Token(), o.source)
}

// A server behind an air gap installs OpenTofu and a provider from a bundle, and applies a stack with them.
func TestAServerBehindAnAirGap(t *testing.T) {
	i, o := newIsland(t), newOrigin(t)
	path, digest := o.bundle(t)
	o.registry.SetDown(true)
	dir := t.TempDir()
	args := []string{"up", "--data-dir", dir, "--api-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--registry-address", "127.0.0.1:0",
		"--tools-key", o.releases.KeyFile, "--bundle", path, "--bundle-digest", digest}
	var c *cloud.Cloud
	var log proctest.Log
	var err error
	begin := time.Now()
	i.within(func() {
		if connection, err := net.Dial("tcp", o.registry.Host()); err == nil {
			connection.Close() //nolint:errcheck // it should not exist
			t.Error("the island reaches the registry outside")
		}
		c = cloud.Start()
		err = proctest.Start(yuba(nil, args...), "Yuba is ready", &log, patience)
	})
	t.Cleanup(c.Close)
	t.Cleanup(func() {
		if err := proctest.End(dir); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ready %s after the start, with OpenTofu and a provider from the bundle", time.Since(begin).Round(100*time.Millisecond))
	do := func(in string, args ...string) string {
		t.Helper()
		cmd := yuba(nil, append(args, "--kubeconfig", filepath.Join(dir, "kubeconfig"))...)
		cmd.Stdin = strings.NewReader(in)
		var out []byte
		var err error
		i.within(func() { out, err = cmd.CombinedOutput() })
		if err != nil {
			t.Fatalf("yuba %s: %v\n%s\n%s", strings.Join(args, " "), err, out, log.Tail())
		}
		return string(out)
	}
	do(o.stack(c), "kubectl", "apply", "-f", "-")
	do("", "kubectl", "wait", "terraform/inside", "--for=condition=Ready", "--timeout="+patience.String())
	if object, ok := c.Object("a"); !ok || object.Content != "from the bundle" {
		t.Errorf("the cloud has %+v, %v", object, ok)
	}
}

// Another digest, or one changed byte, and nothing of the bundle is used: the server does not start.
func TestABundleThatIsNotTheOneThatWasMade(t *testing.T) {
	o := newOrigin(t)
	path, digest := o.bundle(t)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	size, err := file.Seek(0, 2)
	if err == nil {
		_, err = file.WriteAt([]byte{0x55, 0xaa, 0x55, 0xaa}, size/2)
	}
	if err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"bundle", "verify", path},
		{"up", "--data-dir", t.TempDir(), "--bundle", path, "--bundle-digest", digest},
		{"bundle", "push", path, "--to", "127.0.0.1:1"},
	} {
		out, err := yuba(nil, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "the bundle is damaged") || !strings.Contains(string(out), path) {
			t.Errorf("%v: %v, says %s", args, err, out)
		}
	}
}
