// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

// An administrator who names a host with a port did not name what else listens on that machine.
func TestAnOriginCannotLeadToOtherPortsOfItsMachine(t *testing.T) {
	var asked atomic.Int64
	victim := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(victim.Close)
	discovery := func(url string) faulttest.Fault {
		return func(rw writer, _ *request) bool {
			_, _ = rw.Write([]byte(`{"providers.v1": "` + url + `/secret/"}`))
			return true
		}
	}
	for name, lie := range map[string]func(w *world){
		"service discovery":             func(w *world) { w.origin.Break("/.well-known/", discovery(victim.URL)) },
		"a redirect of discovery":       func(w *world) { w.origin.Break("/.well-known/", registrytest.Redirect(victim.URL)) },
		"a redirect of the versions":    func(w *world) { w.origin.Break("/versions", registrytest.Redirect(victim.URL+"/secret")) },
		"a redirect of the description": func(w *world) { w.origin.Break("/download/", registrytest.Redirect(victim.URL+"/secret")) },
		"a redirect of the checksums":   func(w *world) { w.origin.Break("/sums", registrytest.Redirect(victim.URL+"/secret")) },
		"a redirect of the archive":     func(w *world) { w.origin.Break("/archive", registrytest.Redirect(victim.URL+"/secret")) },
		"addresses in the description": func(w *world) {
			w.origin.Break("/download/", w.origin.Changed(func(b []byte) []byte {
				return bytes.ReplaceAll(b, []byte(w.origin.Host()), []byte(strings.TrimPrefix(victim.URL, "https://")))
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.publish("1.0.0")
			lie(w)
			_, err := w.read(t.Context(), w.thing("1.0.0"), linux)
			if !errors.Is(err, offer.ErrUpstream) || !strings.Contains(err.Error(), "has an address on this machine or in a private network") {
				t.Errorf("%v", err)
			}
			if n := asked.Swap(0); n > 0 {
				t.Errorf("another port was asked %d times", n)
			}
		})
	}
	// It is reached when it is named.
	w := newWorld(t, func(o *Options) { o.Allow = append(o.Allow, strings.TrimPrefix(victim.URL, "https://")+"/*/*") })
	w.publish("1.0.0")
	w.origin.Break("/archive", registrytest.Redirect(victim.URL+"/files"))
	if _, err := w.read(t.Context(), w.thing("1.0.0"), linux); err == nil || asked.Load() != 1 {
		t.Errorf("named: %v, asked %d times", err, asked.Load())
	}
}
