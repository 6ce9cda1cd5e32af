// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"crypto/x509"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/registry/mirror"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

// An origin whose service discovery leads to this mirror makes it wait for its own answer, and with two
// mirrors each for the other's.
func TestAMirrorThatAsksItselfSaysSo(t *testing.T) {
	for _, name := range []string{"directly", "through another mirror"} {
		t.Run(name, func(t *testing.T) {
			origin := registrytest.New(t)
			sites, options := [2]*site{}, [2]registry.Options{}
			for i := range sites {
				sites[i] = newSite(t, func(_ *site, o *registry.Options) {
					o.Anonymous, o.AnonymousMirror = true, true
					options[i] = *o
				})
			}
			one, other := sites[0], sites[1]
			for i, s := range sites {
				roots := x509.NewCertPool()
				roots.AddCert(s.http.Certificate()) // all servers of httptest have it
				var err error
				options[i].Mirror, err = mirror.Open(s.bucket, mirror.Options{Spool: t.TempDir(), Roots: roots,
					Allow: []string{origin.Host() + "/*/*", one.host() + "/*/*", other.host() + "/*/*"}})
				if err != nil {
					t.Fatal(err)
				}
				s.server = registry.New(options[i])
			}
			origin.Break("/.well-known/", func(w http.ResponseWriter, r *http.Request) bool {
				to := one
				if name != "directly" && !strings.Contains(r.Header.Get("Via"), ",") {
					to = other
				}
				_, _ = w.Write([]byte(`{"providers.v1": "https://` + to.host() + `/v1/upstream/` + origin.Host() + `/"}`))
				return true
			})
			began := time.Now()
			for _, path := range []string{"/v1/mirror/" + origin.Host() + "/acme/thing/index.json", "/v1/upstream/" + origin.Host() + "/acme/thing/versions"} {
				response, body := one.ask(http.MethodGet, path, "")
				if response.StatusCode != http.StatusBadGateway || name == "directly" && !strings.Contains(body, "lead back to this mirror") {
					t.Errorf("%s: %d %s", path, response.StatusCode, body)
				}
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %s to notice", took)
			}
			response, body := one.ask(http.MethodGet, "/v1/upstream/"+origin.Host()+"/acme/thing/versions", "", "Via", "1.1 proxy, "+strings.Repeat("1.1 mirror, ", 20))
			if response.StatusCode != http.StatusLoopDetected || !strings.Contains(body, "--registry-mirror-deny '"+origin.Host()+"/*/*'") {
				t.Errorf("too many: %d %s", response.StatusCode, body)
			}
		})
	}
}
