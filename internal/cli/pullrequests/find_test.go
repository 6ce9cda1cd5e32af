// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pullrequests

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

func planner(namespace, name string, list ...yubav1.PullRequestStatus) yubav1.PullRequestPlanner {
	return yubav1.PullRequestPlanner{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: yubav1.PullRequestPlannerStatus{PullRequests: list}}
}

func TestOnePullRequestIsFound(t *testing.T) {
	list := knownOf([]yubav1.PullRequestPlanner{
		planner("t", "second", yubav1.PullRequestStatus{Source: "infra", Number: 7}),
		planner("t", "first", yubav1.PullRequestStatus{Source: "infra", Number: 7}, yubav1.PullRequestStatus{Source: "apps", Number: 7}, yubav1.PullRequestStatus{Source: "infra", Number: 9}),
	})
	var order []string
	for i := range list {
		order = append(order, list[i].Planner+" "+list[i].name())
	}
	if got := strings.Join(order, ", "); got != "first infra#9, first infra#7, first apps#7, second infra#7" {
		t.Errorf("the order is %s", got)
	}
	for text, c := range map[string]struct{ planner, want, problem string }{
		"9":        {"", "first infra#9", ""},
		"apps#7":   {"", "first apps#7", ""},
		"infra#7":  {"second", "second infra#7", ""},
		"infra#07": {"first", "first infra#7", ""},
		"7":        {"", "", "several pull requests have the number 7"},
		"8":        {"", "", "no planner knows the pull request 8"},
		"other#9":  {"", "", "no planner knows"},
	} {
		r, err := parseReference(text, c.planner)
		if err != nil {
			t.Fatal(err)
		}
		k, err := find(list, r)
		switch {
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%s: %v", text, err)
		case c.problem == "" && (err != nil || k.Planner+" "+k.name() != c.want):
			t.Errorf("%s: %+v, %v", text, k, err)
		}
	}
	for _, text := range []string{"", "x", "0", "-1", "#7", "infra#", "infra#x", "99999999999"} {
		if r, err := parseReference(text, ""); err == nil {
			t.Errorf("%q is %+v", text, r)
		}
	}
}

func TestAHostileTitleIsOneLine(t *testing.T) {
	text := headOf(&known{PullRequestStatus: yubav1.PullRequestStatus{Source: "infra", Number: 7, Title: "a\nState  Applied\x1b[2J", State: yubav1.PullRequestPlanned}})
	if strings.Count(text, "\n") != 5 || strings.Contains(text, "\x1b") {
		t.Errorf("%q", text)
	}
}
