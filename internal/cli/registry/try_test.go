// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/cli/trials"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/usage"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestEqualResultsAreShownTogether(t *testing.T) {
	var results []content.Try
	add := func(name string, outcome run.Outcome, problem string, changes ...string) {
		results = append(results, content.Try{Namespace: "shop", Name: name, Outcome: outcome, Error: problem, Changes: changes})
	}
	add("odd", run.OutcomeFailed, "Error: Invalid value\n\n  too large\n")
	add("z", run.OutcomeSucceeded, "", "+1 aws_subnet.spare")
	for i := range 8 {
		add(fmt.Sprint("s", i), run.OutcomeSucceeded, "", "+1 aws_subnet.it", "~2 aws_route.it")
	}
	add("stopped", run.OutcomeCanceled, "")
	add("b", run.OutcomeSucceeded, "")
	add("a", run.OutcomeSucceeded, "")
	want := `2 stacks: no changes
8 stacks: +1 aws_subnet.it, ~2 aws_route.it
    shop/s0, shop/s1, shop/s2, shop/s3, shop/s4 and 3 more
1 stack: +1 aws_subnet.spare
    shop/z
1 stack: failed
    shop/odd
    Error: Invalid value
    
      too large
1 stack: canceled
    shop/stopped
`
	report := reportOf("acme/vpc/aws", "1.3.0-rc1", results)
	var got strings.Builder
	for i := range report.Groups {
		got.WriteString(trials.Text(&report.Groups[i]))
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

// A sample has as many versions and namespaces as possible, and is the same each time.
func TestASampleIsMixed(t *testing.T) {
	var users []usage.User
	for i := range 30 {
		u := usage.User{Namespace: fmt.Sprint("team-", i%2), Stack: fmt.Sprintf("s%02d", i)}
		u.Version = fmt.Sprintf("1.%d.0", i/20)
		users = append(users, u, u) // applied and planned
	}
	list := stacksOf(users)
	if len(list) != 30 {
		t.Fatalf("%d stacks", len(list))
	}
	got := sampleOf(list, 5)
	want := []tried{{"team-0", "s00", "1.0.0"}, {"team-1", "s01", "1.0.0"}, {"team-0", "s20", "1.1.0"}, {"team-1", "s21", "1.1.0"}, {"team-0", "s02", "1.0.0"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(tried{})); diff != "" {
		t.Error(diff)
	}
	if len(sampleOf(list, 0)) != 30 || len(sampleOf(list, 100)) != 30 {
		t.Error("all are not chosen")
	}
}
