// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// fakeRegistry says who asked for what.
type fakeRegistry struct{ about *run.Registry }

func (f fakeRegistry) About(*run.Spec) *run.Registry { return f.about }

func (f fakeRegistry) For(spec *run.Spec, tell func(string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if what, ok := strings.CutPrefix(r.URL.Path, "/v1/tools/"); ok {
			tell(strings.TrimSpace(what))
		}
		fmt.Fprintf(w, "%s/%s %s revoked=%s authorization=%s", spec.Stack.Namespace, spec.ServiceAccount, r.URL, r.Header.Get(run.HeaderRevoked), r.Header.Get("Authorization"))
	})
}

func TestDownloadsOfARunReachTheRegistryAsItsServiceAccount(t *testing.T) {
	h := newHome(t)
	h.registry = fakeRegistry{&run.Registry{Host: "registry.example.com:7445", Mirror: &run.Mirror{Deny: []string{"*/acme"}}}}
	h.start()
	rec := h.record("r1")
	rec.Spec.ServiceAccount = "deployer"
	h.started(rec)
	spec := decoded[run.Spec](h, h.mustDo(http.StatusOK, h.of("r1", "GET", "")))
	if spec.Registry == nil || spec.Registry.Host != "registry.example.com:7445" || spec.Registry.Mirror == nil || spec.Registry.Mirror.Deny[0] != "*/acme" {
		t.Fatalf("told the runner of %+v", spec.Registry)
	}
	ask := h.of("r1", "GET", "/registry/v1/modules/acme/vpc/aws/versions?x=1").with(run.HeaderRevoked, "1")
	want := h.stack.Namespace + "/deployer /v1/modules/acme/vpc/aws/versions?x=1 revoked= authorization="
	if got := h.mustDo(http.StatusOK, ask); got != want {
		t.Errorf("answered %q, want %q", got, want)
	}
	stranger := ask
	stranger.token = "token-of-another"
	h.mustDo(http.StatusUnauthorized, stranger)
	ask.method = "POST"
	h.mustDo(http.StatusMethodNotAllowed, ask)
	h.finish("r1", succeeded())
	h.mustDo(http.StatusGone, h.of("r1", "GET", "/registry/v1/modules/acme/vpc/aws/versions"))
}

// Runs that destroy may ask for all revoked versions, and those that do not upgrade for the ones that
// their stack has.
func TestWhichRunsMayAskForRevokedVersions(t *testing.T) {
	for name, c := range map[string]struct {
		destroy, upgrade bool
		asked, want      run.Revoked
	}{
		"destroy: all":                    {true, true, run.AllRevoked, run.AllRevoked},
		"destroy: those that it has":      {true, true, run.UsedRevoked, run.UsedRevoked},
		"no upgrade: those that it has":   {false, false, run.UsedRevoked, run.UsedRevoked},
		"no upgrade: not all":             {false, false, run.AllRevoked, run.NoRevoked},
		"an upgrade must do without them": {false, true, run.UsedRevoked, run.NoRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.registry = fakeRegistry{&run.Registry{Host: "registry.example.com"}}
			h.start()
			rec := h.record("r1")
			rec.Spec.Destroy, rec.Spec.Upgrade = c.destroy, c.upgrade
			h.started(rec)
			got := h.mustDo(http.StatusOK, h.of("r1", "GET", "/registry/v1/modules/acme/vpc/aws/versions").with(run.HeaderRevoked, string(c.asked)))
			if want := fmt.Sprintf("revoked=%s authorization", c.want); !strings.Contains(got, want) {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

func TestARunWaitsForItsTool(t *testing.T) {
	h := newHome(t)
	h.registry = fakeRegistry{&run.Registry{Host: "registry.example.com"}}
	h.start()
	h.started(h.record("r1"))
	for len(h.ended) > 0 {
		<-h.ended
	}
	for _, what := range []string{"downloading", ""} {
		want := ""
		if what != "" {
			want = run.WaitsForTool + what
		}
		h.mustDo(http.StatusOK, h.of("r1", "GET", "/registry/v1/tools/"+what))
		if rec, _, _ := h.exec.InHand(h.stack); rec.Waits != want {
			t.Errorf("the run waits for %q, want %q", rec.Waits, want)
		}
		h.endedOnce()
	}
}

func TestServersWithoutARegistry(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	if spec := decoded[run.Spec](h, h.mustDo(http.StatusOK, h.of("r1", "GET", ""))); spec.Registry != nil {
		t.Errorf("told the runner of %+v", spec.Registry)
	}
	h.mustDo(http.StatusNotFound, h.of("r1", "GET", "/registry/v1/modules/acme/vpc/aws/versions"))
}
