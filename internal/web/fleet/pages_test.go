// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/webtest"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/causes"
	"github.com/yuba-dev/yuba/internal/web/fleet"
	"github.com/yuba-dev/yuba/internal/web/inbox"
	"github.com/yuba-dev/yuba/internal/web/site"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// fail is a message as tofu writes one.
const fail = "Error: creating EC2 VPC: operation error EC2: CreateVpc, StatusCode: 403, RequestID: %d\n\n  with aws_vpc.main,\n  on main.tf line 3, in resource \"aws_vpc\" \"main\":\n   3: resource \"aws_vpc\" \"main\" {\n\nYou are not authorized.\n"

// stack makes one of many stacks: a tenth of them fail, 40 wait, some drift.
func stack(i int) infrav1.Terraform {
	at := metav1.NewTime(now.Add(-time.Duration(i) * time.Minute))
	t := infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("team-%02d", i%30), Name: fmt.Sprintf("stack-%04d", i), UID: "u", Generation: 1,
		Labels: map[string]string{"env": []string{"dev", "staging", "prod"}[i%3], "example.com/team": fmt.Sprintf("t%d", i%7)}, CreationTimestamp: at}}
	t.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "infra", Namespace: "flux-system"}
	t.Status.LastAppliedRevision = "main@sha1:1a2b3c4d5e6f"
	t.Status.LastRun = &infrav1.RunReference{ID: fmt.Sprint("run-", i), Operation: "plan-and-apply", Status: "succeeded", StartedAt: &at, FinishedAt: &at}
	ready := metav1.Condition{Type: infrav1.ConditionReady, Status: metav1.ConditionTrue, Reason: infrav1.ReasonApplied, Message: "Applied successfully: main@sha1:1a2b3c4d5e6f", LastTransitionTime: at}
	switch {
	case i%75 == 1: // 40 of 3000
		t.Status.Plan.Pending, t.Status.Plan.Digest, t.Status.Plan.Summary, t.Status.LastPlanAt = "plan-main-1a2b3c4d5e", fmt.Sprintf("sha256:%064d", i), "+1 ~0 -0", &at
		t.Status.Plan.ChangesDigest = fmt.Sprintf("sha256:%064d", i%5)
		ready.Status, ready.Reason, ready.Message = metav1.ConditionUnknown, infrav1.ReasonPlannedWithChanges, "Plan generated"
	case i%10 == 0:
		t.Status.LastRun.Status = "failed"
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, infrav1.ReasonApplyFailed, fmt.Sprintf(fail, i)
	case i%50 == 2:
		ready.Status, ready.Reason = metav1.ConditionFalse, infrav1.ReasonDriftDetected
		ready.Message = "Drift detected.\nActions in this plan:\n\n  # aws_s3_bucket.b will be updated in place\n~ resource \"aws_s3_bucket\" \"b\" {\n      ~ tags = {}\n    }\n" + strings.Repeat("# more\n", 500)
	}
	t.Status.Conditions = []metav1.Condition{ready}
	return t
}

func everything(access.Right) bool { return true }

// pages serves stacks.
func pages(t testing.TB, n int, may func(access.Right) bool) *site.Site {
	t.Helper()
	w := &webtest.Watched{}
	for i := range n {
		w.Stacks = append(w.Stacks, stack(i))
	}
	return serve(t, w, may)
}

func serve(t testing.TB, w *webtest.Watched, may func(access.Right) bool) *site.Site {
	t.Helper()
	s := webtest.Site(t, w, may, now)
	if err := fleet.Add(s, w); err != nil {
		t.Fatal(err)
	}
	s.Sections = []site.Section{{Text: "Inbox", Address: "/"}}
	inbox.Add(s, w, webtest.Objects(w, now))
	causes.Add(s, w)
	return s
}

// Beside Flux a server need not watch Kustomizations. The inbox, which each page counts, does not wait for them.
func TestTheInboxWaitsForNoWatchThatIsNotAllowed(t *testing.T) {
	w := &webtest.Watched{Unwatched: "kustomizations"}
	for i := range 100 {
		w.Stacks = append(w.Stacks, stack(i))
	}
	if code, body := webtest.Get(t, serve(t, w, everything), "/"); code != 200 || !strings.Contains(body, "stack-0076") {
		t.Errorf("%d: %s", code, body)
	}
}

func TestPages(t *testing.T) {
	s := pages(t, 300, func(r access.Right) bool { return r.Resource != "configmaps" })
	for address, want := range map[string]struct {
		code    int
		has, no []string
	}{
		"/stacks":                                          {200, []string{"300 stacks, 1 to 100", "team-00/stack-0000", `class="state failed"`, "Next rows", `class="spark"`, "main@sha1:1a2b3c4d"}, []string{"Previous rows"}},
		"/stacks?page=3":                                   {200, []string{"201 to 300", "Previous rows"}, []string{"Next rows"}},
		"/stacks?page=99":                                  {200, []string{"201 to 300"}, nil},
		"/stacks?q=status:pending":                         {200, []string{"4 stacks of 300"}, []string{"stack-0000"}},
		"/stacks?q=env:prod+status:failed":                 {200, []string{"10 stacks of 300"}, nil},
		"/stacks?q=status:faild":                           {200, []string{"is not one of failed", "<mark>faild</mark>", "no stacks are shown"}, []string{"stack-0000"}},
		"/stacks?q=statsu:failed":                          {200, []string{"No stack matches", "no stack has a label of that name"}, nil},
		"/stacks?q=<script>alert(1)</script>":              {200, []string{"No stack matches", "&lt;script&gt;"}, []string{"<script>alert"}},
		"/stacks?group=ns":                                 {200, []string{">team-00</a>", "10 stacks"}, nil},
		"/stacks?group=label:env&q=status:failed":          {200, []string{`>dev</a>`, `label%3Aenv%3Ddev`}, nil},
		"/stacks?group=cause&q=status:failed":              {200, []string{"aws_vpc creating # VPC"}, nil},
		"/stacks?cols=stack,source,label:team&sort=-stack": {200, []string{"GitRepository/flux-system/infra", `aria-sort="descending"`, ">team<"}, []string{"Recent runs</a>"}},
		"/stacks?cols=nonsense&sort=nonsense&group=x":      {200, []string{"300 stacks"}, nil},
		"/causes":                                {200, []string{"2 causes", "creating # VPC", "You are not authorized.", "Changed: tags", "aws_s3_bucket", "q=cause%3A"}, nil},
		"/causes?kind=drift":                     {200, []string{"1 cause<", "Changed: tags"}, []string{"creating # VPC"}},
		"/":                                      {200, []string{"Plans that wait", "Failed since you last looked", "30 stacks with the same failure", "6 stacks only report drift", `<b class="pill">34</b>`}, nil},
		"/inbox/confirm?verb=nonsense":           {400, []string{"does not say what to do"}, nil},
		"/inbox/confirm?verb=approve&row=x":      {400, []string{"not a stack"}, nil},
		"/inbox/confirm?verb=approve&row=a/gone": {200, []string{"does not exist any more", "None of the selected stacks"}, nil},
		"/inbox/confirm?verb=replan&q=status:failed":  {200, []string{"30 stacks can be acted on", "It is planned again."}, nil},
		"/inbox/confirm?verb=approve&q=status:failed": {200, []string{"No plan waits for approval"}, nil},
		"/inbox/confirm?verb=replan&q=a:":             {400, []string{"query cannot be read"}, nil},
		"/inbox/result/nothing":                       {404, []string{"not known any more"}, nil},
	} {
		t.Run(address, func(t *testing.T) {
			code, body := webtest.Get(t, s, strings.NewReplacer("<", "%3C", ">", "%3E").Replace(address))
			if code != want.code {
				t.Fatalf("status %d: %s", code, body)
			}
			for _, text := range want.has {
				if !strings.Contains(body, text) {
					t.Errorf("lacks %q:\n%s", text, mainOf(body))
				}
			}
			for _, text := range want.no {
				if strings.Contains(body, text) {
					t.Errorf("has %q", text)
				}
			}
			if strings.Contains(body, " style=") || strings.Contains(body, "ZgotmplZ") {
				t.Error("has an inline style, or a value that the template refuses")
			}
		})
	}
}

func TestWhoMaySeeLessSeesLess(t *testing.T) {
	may := func(r access.Right) bool {
		return r.Verb == "list" && r.Namespace == "team-01" && r.Resource == "terraforms"
	}
	w := &webtest.Watched{}
	for i := range 60 {
		w.Stacks = append(w.Stacks, stack(i))
	}
	w.Namespaces = append(w.Namespaces, namespace("team-01"), namespace("team-02"))
	s := serve(t, w, may)
	_, body := webtest.Get(t, s, "/stacks")
	if !strings.Contains(body, "2 stacks<") || strings.Contains(body, "team-02") {
		t.Error(body)
	}
	_, body = webtest.Get(t, s, "/")
	if !strings.Contains(body, "You need the right to patch terraforms.infra.contrib.fluxcd.io in namespace team-01.") {
		t.Error(body)
	}
	_, body = webtest.Get(t, s, "/inbox/confirm?verb=approve&q=status:pending")
	if !strings.Contains(body, "None of the selected stacks") {
		t.Error(body)
	}
}

// A watch of one kind that does not begin, or an API that does not answer, must not hide the plans.
func TestPlansAreShownWhenOtherKindsAreAway(t *testing.T) {
	for _, broken := range []error{apierrors.NewTimeoutError("the informer does not sync", 1), errors.New("no route to <host>")} {
		w := &webtest.Watched{Stacks: []infrav1.Terraform{stack(1)}, Broken: broken}
		code, body := webtest.Get(t, serve(t, w, everything), "/")
		for _, text := range []string{"Plans that wait", "team-01/stack-0001", "The server cannot read kustomizations now", "The server cannot read circuitbreakers now"} {
			if code != 200 || !strings.Contains(body, text) {
				t.Errorf("lacks %q: %d %s", text, code, mainOf(body))
			}
		}
		w.Broken = nil
		if _, body = webtest.Get(t, serve(t, w, everything), "/"); strings.Contains(body, "cannot read") {
			t.Error(mainOf(body))
		}
	}
	// What the person may not list is no trouble.
	w := &webtest.Watched{Stacks: []infrav1.Terraform{stack(1)}, Broken: errors.New("away")}
	if _, body := webtest.Get(t, serve(t, w, func(r access.Right) bool { return r.Resource == "terraforms" }), "/"); strings.Contains(body, "cannot read") {
		t.Error(mainOf(body))
	}
}

func TestEverybodyIsToldHowToBegin(t *testing.T) {
	_, body := webtest.Get(t, pages(t, 0, everything), "/stacks")
	if !strings.Contains(body, "yuba deploy DIR") {
		t.Error(body)
	}
}

// An API that does not answer is no reason to hide that there may be shared views, or the page.
func TestSharedViewsThatCannotBeReadAreSaidToBe(t *testing.T) {
	code, body := webtest.Get(t, pages(t, 3, everything), "/stacks")
	if code != 200 || !strings.Contains(body, "3 stacks<") || !strings.Contains(body, "Shared views cannot be read now.") {
		t.Errorf("%d %s", code, mainOf(body))
	}
	if _, body = webtest.Get(t, pages(t, 3, func(r access.Right) bool { return r.Resource != "configmaps" }), "/stacks"); strings.Contains(body, "Shared views") {
		t.Error(mainOf(body))
	}
}

func TestExports(t *testing.T) {
	w := &webtest.Watched{Stacks: []infrav1.Terraform{stack(10), stack(11), stack(1)}}
	w.Stacks[0].Status.Conditions[0].Message = "=cmd|' /C calc'!A0"
	w.Stacks[1].Labels["env"] = "-1+1"
	s := serve(t, w, func(r access.Right) bool { return r.Resource != "configmaps" })
	_, body := webtest.Get(t, s, "/stacks/export.csv?cols=stack,what,label:env,changed")
	lines, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"Stack", "What", "env", "Changed"}, {"team-10/stack-0010", "'=cmd|' /C calc'!A0", "staging", "2026-03-04T04:56:07Z"},
		{"team-01/stack-0001", "The plan waits for approval: '+1 ~0 -0.", "staging", "2026-03-04T05:05:07Z"}, {"team-11/stack-0011", "Applied successfully: main@sha1:1a2b3c4d5e6f", "'-1+1", "2026-03-04T04:55:07Z"}}
	want[2][1] = "The plan waits for approval: +1 ~0 -0."
	if !slices.EqualFunc(lines, want, slices.Equal[[]string]) {
		t.Errorf("got  %q\nwant %q", lines, want)
	}
	_, body = webtest.Get(t, s, "/stacks/export.json?q=status:failed")
	var all []map[string]any
	if err := json.Unmarshal([]byte(body), &all); err != nil || len(all) != 1 || all[0]["name"] != "stack-0010" || all[0]["state"] != "failed" {
		t.Errorf("%v %v", all, err)
	}
	if code, body := webtest.Get(t, s, "/stacks/export.csv?q=status:x"); code != 400 {
		t.Errorf("%d %s", code, body)
	}
	_, body = webtest.Get(t, s, "/stacks/complete?q=env:p")
	if strings.TrimSpace(body) != "[]" {
		t.Error(body)
	}
	_, body = webtest.Get(t, s, "/stacks/complete?q=env:s")
	if !strings.Contains(body, `"env:staging"`) {
		t.Error(body)
	}
}

// cpu is the processor time of this process, which the load of the machine changes little.
func cpu(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkPages measures what pages of 3000 stacks take on the server, of which 40 wait.
func BenchmarkPages(b *testing.B) {
	s := pages(b, 3000, func(r access.Right) bool { return r.Resource != "configmaps" })
	for name, address := range map[string]string{
		"fleet": "/stacks", "fleet-query": "/stacks?q=status:failed+env:prod+denied+-ns:team-01+changed:%3C30d", "fleet-text": "/stacks?q=authorized",
		"fleet-groups": "/stacks?group=label:env&sort=-changed", "fleet-causes": "/stacks?group=cause", "csv": "/stacks/export.csv", "complete": "/stacks/complete?q=en",
		"inbox": "/", "causes": "/causes", "confirm": "/inbox/confirm?verb=replan&q=status:failed",
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			size, before := 0, cpu(b)
			for b.Loop() {
				began := time.Now()
				code, body := webtest.Get(b, s, address)
				took = append(took, time.Since(began))
				if size = len(body); code != 200 {
					b.Fatal(code, body)
				}
			}
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/1000/float64(len(took)), "cpu-ms/op")
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(size)/1000, "kB")
		})
	}
}

func namespace(name string) corev1.Namespace {
	return corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// mainOf is the main part of a page.
func mainOf(body string) string {
	_, body, _ = strings.Cut(body, "<main")
	return body[:min(len(body), 3000)]
}
