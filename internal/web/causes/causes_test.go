// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package causes

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/registry/usage"
	"github.com/yuba-dev/yuba/internal/web/cause"
	"github.com/yuba-dev/yuba/internal/web/site"
)

func failing(i int, message string) *infrav1.Terraform {
	t := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("s%04d", i)}}
	t.Status.Conditions = []metav1.Condition{{Type: infrav1.ConditionReady, Status: metav1.ConditionFalse, Reason: infrav1.ReasonPlanFailed, Message: message}}
	return t
}

func TestArrange(t *testing.T) {
	var all []*infrav1.Terraform
	for i := range 40 {
		all = append(all, failing(i, fmt.Sprintf("Error: no\n\n  with aws_vpc.main,\n  on main.tf line %d:\n", i)))
	}
	all[0].Status.Conditions = append(all[0].Status.Conditions, metav1.Condition{Type: infrav1.ConditionPaused, Status: metav1.ConditionTrue})
	drifts := failing(40, "Drift detected.")
	drifts.Status.Conditions[0].Reason = infrav1.ReasonDriftDetected
	all = append(all, drifts, &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "well"}})
	got := arrange(all, "", 1)
	if got.Failures != 40 || got.Drifts != 1 || got.Total != 2 || len(got.Rows) != 2 {
		t.Fatalf("%+v", got)
	}
	first := got.Rows[0]
	if first.Stacks != 40 || first.Type != "aws_vpc" || first.Text != "no" || first.Paused != 1 || len(first.Named) != maxNamed || first.Named[0].Text != "ns/s0000" ||
		first.Replan != "/inbox/confirm?q=cause%3A"+first.Key+"&verb=replan" {
		t.Errorf("%+v", first)
	}
	if only := arrange(all, cause.Drift, 1); only.Total != 1 || only.Rows[0].Kind != cause.Drift || only.Failures != 40 {
		t.Errorf("%+v", only)
	}
}

func TestPagesOfCauses(t *testing.T) {
	var all []*infrav1.Terraform
	for i := range pageRows + 1 {
		text := ""
		for range i {
			text += "x"
		}
		all = append(all, failing(i, "Error: a"+text))
	}
	for asked, want := range map[int]string{-1: "1-100 next", 1: "1-100 next", 2: "101-101 prev", 99: "101-101 prev"} {
		got := arrange(all, cause.Failure, asked)
		text := fmt.Sprintf("%d-%d", got.From, got.To)
		if got.Prev != "" {
			text += " prev"
		}
		if got.Next == "/causes?kind=failure&page=2" {
			text += " next"
		}
		if text != want {
			t.Errorf("page %d: got %s, want %s", asked, text, want)
		}
	}
}

func TestVersions(t *testing.T) {
	use := func(stack, version string) usage.User {
		return usage.User{Namespace: "ns", Stack: stack, Use: usage.Use{Kind: usage.Provider, Source: "registry.opentofu.org/hashicorp/aws", Version: version}}
	}
	users := []usage.User{use("s0000", "5.1.0"), use("s0001", "5.1.0"), use("s0002", "4.0.0"), use("other", "3.0.0")}
	got := versionsOf(users, []*infrav1.Terraform{failing(0, ""), failing(1, ""), failing(2, "")})
	if len(got) != 2 || got[0] != (version{"hashicorp/aws 5.1.0", 2}) || got[1] != (version{"hashicorp/aws 4.0.0", 1}) {
		t.Errorf("%v", got)
	}
	users = nil
	var stacks []*infrav1.Terraform
	for i := range 10 {
		users = append(users, use(fmt.Sprintf("s%04d", i), fmt.Sprint(i)))
		stacks = append(stacks, failing(i, ""))
	}
	if got = versionsOf(users, stacks); len(got) != maxVersions+1 || got[maxVersions].Text != "and 6 more versions" {
		t.Errorf("%v", got)
	}
}

func TestWhyVersionsAreLeftOut(t *testing.T) {
	for want, err := range map[string]error{
		"Versions of providers are left out: You need a right.":                         &site.Refusal{Code: 403, Says: "no", Hint: "You need a right."},
		"Versions of providers are left out: not now.":                                  site.BadRequest("not now.", ""),
		"Versions of providers are left out: the server cannot say now who uses which.": fmt.Errorf("dial tcp 10.0.0.1: no route"),
	} {
		if got := noteOf(err); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
