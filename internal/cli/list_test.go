// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// summed makes a stack that stands in some way.
func summed(t *testing.T, namespace, name, summary string, ready metav1.Condition, change ...func(*infrav1.Terraform)) *infrav1.Terraform {
	t.Helper()
	stack := stackNamed(t, namespace, name, ready)
	stack.Status.Summary = summary
	for _, c := range change {
		c(stack)
	}
	if err := apitest.Client(t).Status().Update(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	return stack
}

// standingStacks are stacks that stand in many ways.
func standingStacks(t *testing.T) (namespace string) {
	t.Helper()
	ns := apitest.Namespace(t)
	planned := func(t *infrav1.Terraform) {
		t.Status.Plan.Pending, t.Status.Plan.Summary = "plan-main-0123456789", "+1 ~0 -0"
		t.Status.LastAppliedRevision, t.Status.LastPlannedRevision = "main@sha1:1111111111", "main@sha1:2222222222"
	}
	summed(t, ns, "applied", "Applied", metav1.Condition{Status: metav1.ConditionTrue, Reason: infrav1.ReasonApplied, Message: "Applied successfully: " + commit}, func(t *infrav1.Terraform) {
		t.Status.LastAppliedRevision, t.Status.LastPlannedRevision = commit, commit
	})
	summed(t, ns, "broken", "Plan failed", metav1.Condition{Status: metav1.ConditionFalse, Reason: infrav1.ReasonPlanFailed, Message: "Error: no\n\n  on main.tf"})
	summed(t, ns, "pending", "Failed; pending +1 ~0 -0", metav1.Condition{Status: metav1.ConditionUnknown, Reason: infrav1.ReasonPlannedWithChanges,
		Message: `Plan generated: set approvePlan: "plan-main-0123456789" to approve this plan. The last apply failed.`}, planned)
	summed(t, ns, "waiting", "Waiting for dev/network", metav1.Condition{Status: metav1.ConditionFalse, Reason: infrav1.ReasonDependencyNotReady, Message: "dependency 'dev/network' is not ready"})
	summed(t, ns, "unseen", "", metav1.Condition{Status: metav1.ConditionUnknown, Reason: infrav1.ReasonProgressing})
	return ns
}

var ages = regexp.MustCompile(`\b\d+(m\d+)?s\b`)

// ofAnyAge makes tables comparable that were printed one after the other.
func ofAnyAge(table string) string {
	return regexp.MustCompile(`(?m) +$`).ReplaceAllString(regexp.MustCompile(`  +`).ReplaceAllString(ages.ReplaceAllString(table, "AGE"), "  "), "")
}

func TestListIsTheTableOfKubectl(t *testing.T) {
	ns := standingStacks(t)
	for _, args := range []string{"", "applied pending", "-o wide", "-o wide broken"} {
		want := yuba(t, ns, append([]string{"kubectl", "--kubeconfig", apitest.API(t).Kubeconfig(), "-n", ns, "get", "tf"}, strings.Fields(args)...)...)
		if want.code != ui.ExitOK || !strings.Contains(want.out, "STATUS") {
			t.Fatalf("kubectl: %d: %s%s", want.code, want.out, want.news)
		}
		for _, command := range []string{"list", "get", "get tf"} {
			got := yuba(t, ns, append(strings.Fields(command), strings.Fields(args)...)...)
			if diff := cmp.Diff(ofAnyAge(want.out), ofAnyAge(got.out)); diff != "" {
				t.Errorf("%s %s (-kubectl +yuba):\n%s", command, args, diff)
			}
		}
	}
	everywhere := yuba(t, "default", "list", "-A")
	if !regexp.MustCompile(`(?m)^NAMESPACE +NAME +READY +STATUS +AGE$`).MatchString(everywhere.out) || !regexp.MustCompile(`(?m)^`+ns+` +waiting +False +Waiting for dev/net`).MatchString(everywhere.out) {
		t.Errorf("got %s%s", everywhere.out, everywhere.news)
	}
	for line, want := range map[string]string{
		"list --status-selector ready=false --no-header": "broken  False  Plan failed  AGE\nwaiting  False  Waiting for dev/network  AGE\n",
		"list applied -o name":                           "terraform.infra.contrib.fluxcd.io/applied\n",
		"list -l nothing=here":                           "",
	} {
		got := yuba(t, ns, strings.Fields(line)...)
		got.out = ofAnyAge(got.out)
		got.want(t, ui.ExitOK, want)
	}
	if got := yuba(t, ns, "list", "applied", "-o", "json"); !strings.Contains(got.out, `"kind": "TerraformList"`) || !strings.Contains(got.out, `"summary": "Applied"`) {
		t.Errorf("got %s", got.out)
	}
	yuba(t, ns, "list", "applied", "missing").want(t, ui.ExitNotFound, "", "there is no such stack")
	yuba(t, ns, "list", "applied", "-A").want(t, ui.ExitUsage, "", "not both")
	yuba(t, ns, "list", "-w", "-o", "yaml").want(t, ui.ExitUsage, "", "--watch only prints tables")
}

func TestListGoesOnUntilCtrlC(t *testing.T) {
	ns := standingStacks(t)
	ctx, interrupt := context.WithCancel(context.Background())
	shown, news := make(lines, 100), make(lines, 100)
	ended := make(chan int)
	go func() {
		ended <- Execute(ctx, []string{"--kubeconfig", apitest.API(t).Kubeconfig(), "-n", ns, "list", "-w"}, strings.NewReader(""), shown, news)
	}()
	next := func() string { return ages.ReplaceAllString(shown.next(t), "AGE") }
	for _, want := range []string{"NAME  READY  STATUS  AGE", "applied  True  Applied  AGE", "broken  False  Plan failed  AGE",
		"pending  Unknown  Failed; pending +1 ~0 -0  AGE", "unseen  Unknown", "waiting  False  Waiting for dev/network  AGE"} {
		if got := next(); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	c := apitest.Client(t)
	var stack infrav1.Terraform
	if err := c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "waiting"}, &stack); err != nil {
		t.Fatal(err)
	}
	// A change that no column shows prints nothing.
	for _, change := range []func(){
		func() { stack.Status.LastPlanAt = &metav1.Time{Time: time.Now()} },
		func() { stack.Status.Summary = "Planning" },
	} {
		change()
		if err := c.Status().Update(ctx, &stack); err != nil {
			t.Fatal(err)
		}
	}
	if got := next(); got != "waiting  False  Planning  AGE" {
		t.Errorf("got %q", got)
	}
	if err := c.Delete(ctx, &stack); err != nil {
		t.Fatal(err)
	}
	if got := next(); got != "waiting  False  Planning  deleted" {
		t.Errorf("got %q", got)
	}
	interrupt()
	if code := <-ended; code != ui.ExitInterrupted {
		t.Errorf("code %d", code)
	}
	if got := news.next(t); got != "" { // which ends the line that a terminal has begun with ^C
		t.Errorf("told %q", got)
	}
	if got := news.next(t); got != "interrupted" {
		t.Errorf("told %q", got)
	}
}

// With NO_COLOR, or off a terminal, nothing has colours: not what commands say, nor plans, nor errors.
func TestNothingHasColoursThatMustNot(t *testing.T) {
	apitest.API(t)
	ns := serveAFleet(t)
	summed(t, ns, "pending", "Plan pending: +1 ~0 -0", metav1.Condition{Status: metav1.ConditionFalse, Reason: infrav1.ReasonPlanFailed, Message: "no"}, func(t *infrav1.Terraform) {
		t.Status.Warnings = []string{"old"}
	})
	commands := []string{"list", "list -o wide", "get all", "status pending", "top --once", "queue", "events", "tree kustomization x", "status missing", "list --nope"}
	t.Setenv("TERM", "xterm")
	for _, test := range []struct {
		noColor    string
		onTerminal bool
		want       bool
	}{{"", true, true}, {"1", true, false}, {"", false, false}} {
		t.Setenv("NO_COLOR", test.noColor)
		coloured := false
		for _, line := range commands {
			text := ""
			if args := append([]string{"--kubeconfig", apitest.API(t).Kubeconfig(), "-n", ns}, strings.Fields(line)...); test.onTerminal {
				c := newTerminal(t, 100, 40)
				Execute(t.Context(), args, c.slave, c.slave, c.slave)
				text = c.ended()
			} else {
				got := yuba(t, ns, strings.Fields(line)...)
				text = got.out + got.news
			}
			has := strings.Contains(text, "\x1b[")
			if coloured = coloured || has; has && !test.want {
				t.Errorf("NO_COLOR=%q, terminal %v: %s has colours: %q", test.noColor, test.onTerminal, line, text)
			}
			if text == "" {
				t.Errorf("%s says nothing", line)
			}
		}
		if coloured != test.want {
			t.Errorf("NO_COLOR=%q, terminal %v: colours %v", test.noColor, test.onTerminal, coloured)
		}
	}
}

// ended is all that was shown once a command has ended: what it wrote comes before a mark that is written after it.
func (c *terminal) ended() string {
	c.t.Helper()
	const mark = "[end]"
	if _, err := c.slave.WriteString(mark); err != nil {
		c.t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		c.mu.Lock()
		text, done := strings.CutSuffix(c.shown.String(), mark)
		c.mu.Unlock()
		if done {
			return text
		}
	}
	c.t.Fatal("the terminal does not show what was written")
	return ""
}
