// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

// Clients of a network mirror verify no signature, so the mirror does it for them.
func TestTheMirrorOffersOnlyVerifiedProvidersOfOnesOwn(t *testing.T) {
	s := newSite(t)
	signer := registrytest.NewSigner(t, time.Now().Add(-time.Hour), 0)
	boringBucket(t, s.dir, signer)
	for name, data := range boringProvider(t, "thing", "6.6.6", registrytest.NewSigner(t, time.Now().Add(-time.Hour), 0)) {
		path := filepath.Join(s.dir, "providers/acme/thing", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	base := "/v1/mirror/" + s.host() + "/acme/thing/"
	for path, want := range map[string]string{
		base + "index.json": `{"versions":{"1.0.0":{}}}`,
		base + "1.0.0.json": `"hashes"`,
		base + "6.6.6.json": "is not offered in the mirror",
		base + "terraform-provider-thing_6.6.6_plan9_riscv64.zip": "is not offered in the mirror",
		// Clients of the registry verify it themselves.
		"/v1/providers/acme/thing/versions": `"6.6.6"`,
	} {
		response, body := s.ask(http.MethodGet, path, s.reader)
		if !strings.Contains(body, want) || (response.StatusCode == http.StatusForbidden) != strings.Contains(path, "6.6.6") {
			t.Errorf("%s: %d %s", path, response.StatusCode, body)
		}
	}
}
