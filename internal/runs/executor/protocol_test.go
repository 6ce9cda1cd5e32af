// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestWhoIsAnswered(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	h.stack.Name = "done"
	h.started(h.record("over"))
	h.finish("over", succeeded())
	spec := h.of("r1", "GET", "")
	for sentence, test := range map[string]struct {
		request request
		want    int
	}{
		"a runner of this version":                     {spec, http.StatusOK},
		"a runner of a newer version":                  {spec.with(run.HeaderProtocol, strconv.Itoa(run.ProtocolVersion+1)), http.StatusUpgradeRequired},
		"a runner of the version before the first":     {spec.with(run.HeaderProtocol, "0"), http.StatusUpgradeRequired},
		"a runner that names no version":               {spec.with(run.HeaderProtocol, ""), http.StatusUpgradeRequired},
		"a poll without the credential":                {request{method: "POST", path: "/poll", token: "token-r1"}, http.StatusUnauthorized},
		"a poll with no token at all":                  {request{method: "POST", path: "/poll"}, http.StatusUnauthorized},
		"a poll that is not JSON":                      {request{method: "POST", path: "/poll", token: credential, body: []byte("x")}, http.StatusBadRequest},
		"another run's token":                          {request{method: "GET", path: "/runs/r1", token: "token-over"}, http.StatusUnauthorized},
		"the runner's credential instead of the token": {request{method: "GET", path: "/runs/r1", token: credential}, http.StatusUnauthorized},
		"no token":                                       {request{method: "GET", path: "/runs/r1"}, http.StatusUnauthorized},
		"a run that is over":                             {h.of("over", "GET", ""), http.StatusGone},
		"the result of a run that is over":               {h.of("over", "POST", "/result", succeeded()), http.StatusGone},
		"a run that never was":                           {h.of("never", "GET", ""), http.StatusGone},
		"a state without its number":                     {h.of("r1", "PUT", "/state", []byte("{}")), http.StatusBadRequest},
		"a state with number 0":                          {h.of("r1", "PUT", "/state", []byte("{}")).with(run.HeaderSequence, "0"), http.StatusBadRequest},
		"a state that is larger than the limit":          {h.of("r1", "PUT", "/state", bytes.Repeat([]byte(" "), 1001)).with(run.HeaderSequence, "1"), http.StatusRequestEntityTooLarge},
		"something that is no state":                     {h.of("r1", "PUT", "/state", []byte("{")).with(run.HeaderSequence, "1"), http.StatusConflict},
		"a plan that is larger than the limit":           {h.of("r1", "PUT", "/plan", bytes.Repeat([]byte(" "), 1001)), http.StatusRequestEntityTooLarge},
		"log without its offset":                         {h.of("r1", "PUT", "/log", []byte("x")), http.StatusBadRequest},
		"log with an offset below zero":                  {h.of("r1", "PUT", "/log", []byte("x")).with(run.HeaderOffset, "-1"), http.StatusBadRequest},
		"a result that is not JSON":                      {h.of("r1", "POST", "/result", []byte("x")), http.StatusBadRequest},
		"a request to go on that is not JSON":            {h.of("r1", "POST", "/continue", []byte("x")), http.StatusBadRequest},
		"the saved plan of a run that applies none":      {h.of("r1", "GET", "/plan"), http.StatusNotFound},
		"the archive when it is not there":               {h.of("r1", "GET", "/artifact"), http.StatusServiceUnavailable},
		"the state of a stack that never had one":        {h.of("r1", "GET", "/state"), http.StatusNoContent},
		"something that is not part of the run protocol": {h.of("r1", "GET", "/nothing"), http.StatusNotFound},
	} {
		t.Run(sentence, func(t *testing.T) {
			h.t = t
			if status, body := h.do(test.request); status != test.want {
				t.Errorf("answered %d %s, want %d", status, body, test.want)
			}
		})
	}
}

func TestARunnerGetsAllThatItsRunNeeds(t *testing.T) {
	h := newHome(t)
	digest, size, err := h.blobs.PutArtifact(t.Context(), strings.NewReader("archive"), 100)
	if err != nil {
		t.Fatal(err)
	}
	planned := h.record("planned")
	planned.Spec.Operation = run.OperationPlan
	h.started(planned)
	h.mustDo(http.StatusNoContent, h.of("planned", "PUT", "/plan", []byte("the saved plan")))
	h.mustDo(http.StatusNoContent, h.of("planned", "PUT", "/plan.json", []byte(`{"readable":true}`)))
	h.finish("planned", succeeded())

	applied := h.record("applied")
	applied.Spec.Artifact = run.Artifact{Digest: digest, Size: size}
	applied.Spec.Plan = &run.PlanRef{RunID: "planned"}
	h.started(applied)
	got := decoded[run.Spec](h, h.mustDo(http.StatusOK, h.of("applied", "GET", "")))
	if diff := cmp.Diff(applied.Spec, got); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	for part, want := range map[string]string{"/artifact": "archive", "/plan": "the saved plan"} {
		if got := h.mustDo(http.StatusOK, h.of("applied", "GET", part)); got != want {
			t.Errorf("%s: %q", part, got)
		}
	}
	// A plan that got lost does not come back by asking again.
	if err := h.blobs.Delete(t.Context(), h.stack.Key("planned", run.BlobPlan)); err != nil {
		t.Fatal(err)
	}
	lost := decoded[run.Problem](h, h.mustDo(http.StatusConflict, h.of("applied", "GET", "/plan")))
	if lost.Class != run.FailureStalePlan || !strings.Contains(lost.Message, "a fresh plan is needed") {
		t.Errorf("%+v", lost)
	}
	readable, err := h.exec.ReadPlan(t.Context(), h.stack, "planned")
	if err != nil || string(readable) != `{"readable":true}` {
		t.Errorf("readable plan %q, %v", readable, err)
	}
	if _, err := h.exec.ReadPlan(t.Context(), h.stack, "applied"); err == nil {
		t.Error("a run without a plan has one")
	}
}
