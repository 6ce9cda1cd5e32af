// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

// Stacks that trust nobody's certificate get a provider through the mirror of the server, which does.
func TestAProviderComesThroughTheServersMirror(t *testing.T) {
	upstream := registrytest.New(t)
	t.Setenv("SSL_CERT_FILE", upstream.CAFile(t.TempDir()))
	y := alone(t, "--registry-address", "off", "--registry-mirror-allow", upstream.Host()+"/*/*")
	ns := y.namespace(t)
	c, stackOptions := cloudy(t, y, ns)
	built, err := os.ReadFile(filepath.Join(providerMirror(), "registry.opentofu.org", "yuba-dev", "yubatest", "0.1.0",
		runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-yubatest_v0.1.0"))
	if err != nil {
		t.Fatal(err)
	}
	const provider = "acme/yubatest"
	upstream.Publish(provider, "1.0.0", map[string][]byte{"terraform-provider-yubatest_v1.0.0": built})
	stack := func(name, version string) *infrav1.Terraform {
		return inline(ns, name, fmt.Sprintf("terraform {\n  required_providers {\n    yubatest = {\n      source  = %q\n      version = %q\n    }\n  }\n}\nprovider \"yubatest\" {}\n%s",
			upstream.Source(provider), version, objectHCL(name, "value")), auto, stackOptions)
	}
	first := stack("first", "~> 1.0")
	y.create(t, first)
	y.await(t, first, "it is ready", ready)
	has(t, c, "first", "value")
	if got := upstream.Counts(); got.Archives != 1 {
		t.Errorf("downloaded from upstream: %+v", got)
	}

	// Without upstream, what the mirror does not have is a clear error.
	upstream.SetDown(true)
	missing := stack("missing", "1.0.1")
	y.create(t, missing)
	y.await(t, missing, "it says why", func(o *infrav1.Terraform) bool {
		return strings.Contains(told(o), "get the provider "+upstream.Source(provider)+" 1.0.1")
	})
}
