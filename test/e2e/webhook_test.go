// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// admission is a service that checks plans.
type admission struct {
	*httptest.Server
	mu     sync.Mutex
	reply  string
	asked  int
	latest []byte
}

func newAdmission(t *testing.T, reply string) *admission {
	t.Helper()
	a := &admission{reply: reply}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asked++
		a.latest = body
		if err == nil {
			io.WriteString(w, a.reply) //nolint:errcheck // a test
		}
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *admission) answer(reply string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reply = reply
}

// seen is the number of requests, and the last one.
func (a *admission) seen() (int, []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked, a.latest
}

func reviewedBy(urls ...string) func(*infrav1.Terraform) {
	return func(obj *infrav1.Terraform) {
		for _, url := range urls {
			obj.Spec.Webhooks = append(obj.Spec.Webhooks, infrav1.Webhook{Stage: infrav1.WebhookPostPlanning, URL: url,
				TestExpression: "${{ .passed }}", ErrorMessageTemplate: "Violation: ${{ (index .violations 0).message }}"})
		}
	}
}

const (
	passes  = `{"passed": true}`
	refuses = `{"passed": false, "violations": [{"message": "too many nodes"}]}`
)

func refused(o *infrav1.Terraform) bool {
	return failedWith(infrav1.ReasonPostPlanningWebhookFailed)(o)
}

func TestAWebhookRefusesWhatWouldBeAppliedByItself(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	yes, no := newAdmission(t, passes), newAdmission(t, refuses)
	y.create(t, secretOf(ns, "password", map[string]string{"password": "hunter2-of-the-secret"}))
	obj := inline(ns, "judged", "variable \"password\" {}\nresource \"terraform_data\" \"a\" { input = \"${var.password} ${sensitive(\"hunter3\")}\" }\noutput \"open\" { value = \"open\" }\n",
		auto, varsFrom("Secret", "password"), reviewedBy(yes.URL, no.URL, "http://127.0.0.1:1/never-asked"), func(o *infrav1.Terraform) {
			o.Spec.Webhooks[2].Enabled = ptr.To(false)
		})
	y.create(t, obj)
	seen := y.await(t, obj, "it is refused", refused)
	for _, kind := range []string{infrav1.ConditionReady, infrav1.ConditionPlan} {
		if c := condition(seen, kind); c.Message != "Violation: too many nodes" || c.Reason != infrav1.ReasonPostPlanningWebhookFailed {
			t.Errorf("%s: %s %s", kind, c.Reason, c.Message)
		}
	}
	if s := seen.Status; s.LastAppliedRevision != "" || s.Plan.Pending != "" || s.ReconciliationFailures == 0 {
		t.Errorf("%+v", s)
	}
	_, payload := no.seen()
	_, plan, _ := strings.Cut(string(payload), `"tfplan":`)
	var got struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct{ ApprovePlan string }
		Status   struct {
			TFPlan struct {
				FormatVersion string `json:"format_version"`
				Changes       []any  `json:"resource_changes"`
			}
		}
	}
	if err := json.Unmarshal(payload, &got); err != nil || got.Kind != "Terraform" || got.Metadata.Name != "judged" || got.Spec.ApprovePlan != "auto" ||
		got.Status.TFPlan.FormatVersion == "" || len(got.Status.TFPlan.Changes) != 1 || strings.Contains(plan, "hunter") {
		t.Errorf("%v: %s", err, payload)
	}
	y.await(t, obj, "it is asked again after the retry interval", func(o *infrav1.Terraform) bool { return refused(o) && o.Status.ReconciliationFailures > 1 })
	no.answer(passes)
	y.await(t, obj, "it passes and is applied", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastAppliedRevision != "" })
}

// A refused plan is not offered for approval; an accepted one is applied without another request.
func TestAWebhookRefusesWhatWouldWaitForApproval(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	service := newAdmission(t, passes)
	obj := inline(ns, "offered", `resource "terraform_data" "a" { input = 1 }`, reviewedBy(service.URL))
	y.create(t, obj)
	first := y.await(t, obj, "its plan waits", waiting)
	service.answer(refuses)
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Spec.Inline["main.tf"] = `resource "terraform_data" "a" { input = 2 }`
	})
	seen := y.await(t, obj, "the next plan is refused", refused)
	if seen.Status.Plan.Pending != "" {
		t.Errorf("%s is offered for approval", seen.Status.Plan.Pending)
	}
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.ApprovePlan = first.Status.Plan.Pending })
	y.await(t, obj, "an approval of the plan before changes nothing", func(o *infrav1.Terraform) bool {
		return refused(o) && o.Status.LastAppliedRevision == ""
	})
	service.answer(passes)
	change(t, y, obj, manual)
	y.await(t, obj, "its plan waits again", waiting)
	asked, _ := service.seen()
	approve(t, y, obj)
	y.await(t, obj, "it is applied", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastAppliedRevision != "" })
	if now, _ := service.seen(); now != asked {
		t.Errorf("asked %d times more", now-asked)
	}
}

// A repair of drift is a plan, too. A webhook that is added later checks a pending plan.
func TestAWebhookIsAskedAboutDriftAndAboutPlansThatWait(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	service := newAdmission(t, refuses)
	obj := inline(ns, "drifting", providerHCL+objectHCL("one", "1"), access)
	y.create(t, obj)
	y.await(t, obj, "its plan waits", waiting)
	change(t, y, obj, reviewedBy(service.URL))
	y.await(t, obj, "the plan that waited is refused", refused)
	service.answer(passes)
	change(t, y, obj, auto)
	first := y.await(t, obj, "it is ready", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastAppliedRevision != "" })
	service.answer(refuses)
	c.Put("one", "by hand")
	change(t, y, obj, driftEvery(time.Second))
	y.await(t, obj, "the repair is refused", refused)
	has(t, c, "one", "by hand")
	service.answer(passes)
	y.await(t, obj, "the repair passes", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.LastAppliedRun != first.Status.LastAppliedRun
	})
	has(t, c, "one", "1")
}

func TestAWebhookThatDoesNotAnswerLetsNothingPass(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := inline(ns, "unanswered", `resource "terraform_data" "a" {}`, auto, reviewedBy("http://me:hunter2@127.0.0.1:1/?token=hunter2"))
	y.create(t, obj)
	seen := y.await(t, obj, "it is refused", refused)
	if m := condition(seen, infrav1.ConditionReady).Message; !strings.HasPrefix(m, "send webhook http://(sensitive)@127.0.0.1:1/?(sensitive): ") {
		t.Errorf("%s", m)
	}
}
