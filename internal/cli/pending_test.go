// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// waitingStacks makes stacks whose plans wait: the first of them longest, and the last one for nobody, because it is suspended.
func waitingStacks(t *testing.T, namespace string, names ...string) {
	t.Helper()
	for i, name := range names {
		planned := metav1.NewTime(time.Now().Add(time.Duration(i-len(names)) * time.Hour))
		stack := &infrav1.Terraform{ObjectMeta: named(namespace, name), Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: time.Hour},
			Suspend: i == len(names)-1, SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "team"}}}
		stack.Labels = map[string]string{"first": name[:1]}
		stack.Status.LastPlanAt = &planned
		stack.Status.Plan = infrav1.PlanStatus{Pending: "plan-main-" + name, Summary: "+1 ~0 -0", RunID: "r-" + name}
		put(t, stack)
	}
}

// approvedIn are the stacks of a namespace whose approvePlan names the plan that waited.
func approvedIn(t *testing.T, namespace string) string {
	t.Helper()
	var stacks infrav1.TerraformList
	if err := apitest.Client(t).List(context.Background(), &stacks, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range stacks.Items {
		if s.Spec.ApprovePlan == "plan-main-"+s.Name {
			names[s.Name] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), " ")
}

func TestPlansThatWaitAreListed(t *testing.T) {
	ns := apitest.Namespace(t)
	yuba(t, ns, "pending").want(t, ui.ExitOK, "", "No plan waits for approval.")
	waitingStacks(t, ns, "vpc", "dns", "asleep")
	want := "NAMESPACE    NAME   PLAN            CHANGES    WAITS   HELD BY\n" +
		ns + "   vpc    plan-main-vpc   +1 ~0 -0   3h   -\n" +
		ns + "   dns    plan-main-dns   +1 ~0 -0   2h   -\n"
	if got := yuba(t, ns, "pending", "--summary"); fieldsOf(got.out) != fieldsOf(want) || got.code != ui.ExitOK {
		t.Errorf("got %d:\n%s%s", got.code, got.out, got.news)
	}
	if got := yuba(t, ns, "pending", "-l", "first=d", "-o", "name"); strings.TrimSpace(got.out) != "terraform.infra.contrib.fluxcd.io/dns" {
		t.Errorf("got %s", got.out)
	}
	// Plans are read from the server, which this test does not have. Everything else is listed anyway.
	if got := yuba(t, ns, "pending"); got.code != ui.ExitOK || !strings.Contains(got.out, ns+"/dns, plan-main-dns:") || !strings.Contains(got.news, "Cannot read the plan of "+ns+"/vpc") {
		t.Errorf("got %d:\n%s%s", got.code, got.out, got.news)
	}
}

func fieldsOf(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestSeveralPlansAreApproved(t *testing.T) {
	for sentence, test := range map[string]struct {
		args     []string
		code     int
		approved string
		news     string
	}{
		"without a terminal all are shown, and none is approved": {[]string{"--all"}, ui.ExitUsage, "", "Approve 3 plans?"},
		"all, but for those that nobody can approve":             {[]string{"--all", "--yes"}, ui.ExitOK, "db dns vpc", "Plan plan-main-vpc of"},
		"those with a label":                                     {[]string{"-l", "first=d", "--yes"}, ui.ExitOK, "db dns", "Plan plan-main-db of"},
		"those that are named, unasked":                          {[]string{"vpc", "dns"}, ui.ExitOK, "dns vpc", "is approved"},
		"one with its plan":                                      {[]string{"vpc", "plan-main-vpc"}, ui.ExitOK, "vpc", "is approved"},
		"not another plan":                                       {[]string{"vpc", "plan-main-dns"}, ui.ExitNotFound, "", "the pending plan is plan-main-vpc"},
		"one that cannot be approved keeps no other back":        {[]string{"asleep", "vpc", "dns"}, ui.ExitFailure, "dns vpc", "the stack is suspended"},
		"none of those with another label":                       {[]string{"-l", "first=x", "--yes"}, ui.ExitOK, "", "No plan waits for approval."},
		"names and flags do not go together":                     {[]string{"vpc", "--all"}, ui.ExitUsage, "", "not both"},
		"all namespaces have to be meant":                        {[]string{"-A", "--yes"}, ui.ExitUsage, "", "--all or -l"},
		"somebody has to be named":                               {nil, ui.ExitUsage, "", "name stacks, or use --all or -l"},
		"several are not waited for":                             {[]string{"vpc", "dns", "--wait"}, ui.ExitUsage, "", "are for one stack"},
	} {
		t.Run(sentence, func(t *testing.T) {
			ns := apitest.Namespace(t)
			waitingStacks(t, ns, "vpc", "dns", "db", "asleep")
			got := yuba(t, ns, append([]string{"approve"}, test.args...)...)
			if got.code != test.code || !strings.Contains(got.news, test.news) {
				t.Errorf("got %d: %s%s", got.code, got.out, got.news)
			}
			if approved := approvedIn(t, ns); approved != test.approved {
				t.Errorf("approved: %s, want %s", approved, test.approved)
			}
		})
	}
}
