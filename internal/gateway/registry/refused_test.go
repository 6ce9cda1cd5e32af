// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// expiring knows a token that has expired.
type expiring struct{ registry.Access }

// Identify implements registry.Access.
func (e expiring) Identify(ctx context.Context, token string) (registry.Identity, error) {
	if token == "expired" {
		return registry.Identity{}, &registry.ExpiredError{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	}
	return e.Access.Identify(ctx, token)
}

// The tools print little of a refusal: docs/how-to/registry.md says what each text means. The answer
// itself, which "yuba" and curl print, says why and what to do.
func TestWhatARefusedUserSees(t *testing.T) {
	s := newSite(t, func(_ *site, o *registry.Options) { o.Access = expiring{o.Access} })
	s.publish("beta/vpc/aws@1.2.0")
	tools := []string{tofutest.Tofu(t)}
	if terraform, err := exec.LookPath("terraform"); err == nil {
		tools = append(tools, terraform)
	}
	const rejected = "rejected the given authentication credentials"
	for sentence, test := range map[string]struct{ token, module, provider, answer, header string }{
		"no token":        {"", "401 Unauthorized", "requires authentication credentials", "the registry needs a token: run \"tofu login " + s.host(), `Bearer realm="registry"`},
		"a wrong token":   {"nonsense", "401 Unauthorized", rejected, "the token is not valid, or no longer: run", `Bearer realm="registry", error="invalid_token"`},
		"an expired one":  {"expired", "401 Unauthorized", rejected, "the token expired at 2026-01-02T03:04:05Z: run", `Bearer realm="registry", error="invalid_token"`},
		"no right to ask": {s.reader, "403 Forbidden", rejected, `may not get modules "beta" of the registry: the token reads [acme]`, `Bearer realm="registry", error="insufficient_scope"`},
	} {
		r, body := s.ask("GET", "/v1/modules/beta/vpc/aws/versions", test.token)
		if text := strings.ReplaceAll(body, `\"`, `"`); !strings.Contains(text, test.answer) || r.Header.Get("WWW-Authenticate") != test.header {
			t.Errorf("%s: %s %s %s", sentence, r.Status, r.Header.Get("WWW-Authenticate"), body)
		}
		if want := test.module[:3]; r.StatusCode != http.StatusOK && !strings.HasPrefix(r.Status, want) {
			t.Errorf("%s: %s", sentence, r.Status)
		}
		for _, tool := range tools {
			for want, program := range map[string]string{
				test.module:   fmt.Sprintf("module \"x\" {\n  source  = \"%s/beta/vpc/aws\"\n  version = \"1.2.0\"\n}\n", s.host()),
				test.provider: fmt.Sprintf("terraform {\n  required_providers {\n    x = { source = \"%s/beta/thing\" }\n  }\n}\n", s.host()),
			} {
				l := s.laptop(tool, test.token)
				l.write("main.tf", program)
				out, err := l.run("init", "-no-color")
				if err == nil || !strings.Contains(oneLine(out), want) {
					t.Errorf("%s, %s: %v, want %q\n%s", sentence, tool, err, want, out)
				}
			}
		}
	}
}
