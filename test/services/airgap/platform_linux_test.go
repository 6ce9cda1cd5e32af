// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package airgap

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/test/cloud"
)

const blueprintInside = `apiVersion: yuba.dev/v1alpha1
kind: Platform
metadata: {name: acme}
spec:
  organization: {name: acme}
  domain: {fqdn: acme.example.org}
  approval: Auto
  airGap: true
  library: {sourceRef: {kind: ExternalArtifact, name: modules}}
  regions: [{name: eu, provider: local, credentialsRef: {name: cloud}}]
  phases: [{name: kubernetes, disabled: true}, {name: gitops, disabled: true}]
`

// library writes modules whose provider is only in the origin, and returns the blueprint and the directory of modules.
func (o *origin) library(t *testing.T) (blueprint, modules string) {
	t.Helper()
	blueprint, modules = filepath.Join(o.dir, "platform.yaml"), filepath.Join(o.dir, "modules")
	object := func(name string) string {
		return fmt.Sprintf("terraform {\n  required_providers {\n    yubatest = {\n      source  = %q\n      version = \"~> 1.0\"\n    }\n  }\n}\nvariable \"platform\" { type = string }\n"+
			"resource \"yubatest_object\" \"a\" {\n  name    = \"${var.platform}-%s\"\n  content = \"inside\"\n}\n", o.source, name)
	}
	for name, text := range map[string]string{
		blueprint: blueprintInside,
		filepath.Join(modules, "local", "network", "main.tf"):      object("network") + "output \"network\" { value = {} }\n",
		filepath.Join(modules, "local", "machines", "main.tf"):     object("machines") + "output \"machines\" { value = { api_endpoint = \"\", addresses = [] } }\n",
		filepath.Join(modules, "local", "machines", "bundle.yaml"): "nothing: true\n",
		// The blueprint does not use it, so nobody needs its provider.
		filepath.Join(modules, "unused", "main.tf"): "terraform {\n  required_providers {\n    no = { source = \"registry.invalid/a/b\" }\n  }\n}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return blueprint, modules
}

// One command packs what a blueprint needs; another one makes the platform from that, behind an air gap.
func TestAPlatformBehindAnAirGap(t *testing.T) {
	i, o := newIsland(t), newOrigin(t)
	blueprint, modules := o.library(t)
	bundle := filepath.Join(o.dir, "platform.tar")
	cmd := yuba([]string{"SSL_CERT_FILE=" + o.registry.CAFile(o.dir)}, "bootstrap", "bundle", blueprint, "--modules", modules, "--allow", o.registry.Host()+"/*/*",
		"--tools-url", o.releases.URL, "--tools-key", o.releases.KeyFile, "-o", bundle)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pack what the blueprint needs: %v\n%s", err, errorsOf(err))
	}
	digest := strings.TrimSpace(string(out))
	o.registry.SetDown(true)

	home := filepath.Join(t.TempDir(), "home")
	t.Cleanup(func() {
		if err := proctest.End(home); err != nil {
			t.Error(err)
		}
	})
	var c *cloud.Cloud
	var said []byte
	i.within(func() {
		c = cloud.Start()
		credentials := filepath.Join(o.dir, "cloud.env")
		if err = os.WriteFile(credentials, fmt.Appendf(nil, "YUBATEST_ENDPOINT=%s\nYUBATEST_TOKEN=%s\n", c.URL(), c.Token()), 0o600); err != nil {
			return
		}
		// Neither the blueprint nor the modules: the bundle has both.
		said, err = yuba(nil, "bootstrap", "--bundle", bundle, "--bundle-digest", digest, "--tools-key", o.releases.KeyFile, "--home", home,
			"--credentials", "cloud="+credentials, "-o", "json", "--timeout", patience.String()).CombinedOutput()
	})
	t.Cleanup(c.Close)
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(home, "bootstrap.log")) //nolint:errcheck // for the message
		t.Fatalf("%v: %s\n%s", err, said, log)
	}
	for _, name := range []string{"acme-eu-network", "acme-eu-machines"} {
		if object, ok := c.Object(name); !ok || object.Content != "inside" {
			t.Errorf("the cloud has no %s: %+v", name, object)
		}
	}
}
