// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

func TestEventsOfContracts(t *testing.T) {
	has := func(status metav1.ConditionStatus, reason, message string, versions int, revisions ...yubav1.ContractRevision) *yubav1.Contract {
		c := &yubav1.Contract{ObjectMeta: metav1.ObjectMeta{Name: "base"}}
		conditions.Set(c, "Ready", status, reason, message)
		c.Status.Versions, c.Status.Revisions = make([]yubav1.ContractVersion, versions), revisions
		return c
	}
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	first := yubav1.ContractRevision{Producer: "prod/network", Version: "1.2.0", Number: 1}
	second := yubav1.ContractRevision{Producer: "prod/network", Version: "1.2.0", Number: 2, ApprovedBy: "ada"}
	var many []yubav1.ContractRevision
	for i := range 1000 {
		many = append(many, yubav1.ContractRevision{Producer: fmt.Sprint("prod/", i), Version: "1.0.0", Number: 1})
	}
	for sentence, test := range map[string]struct {
		before, after *yubav1.Contract
		want          []string
	}{
		"a new contract":                 {&yubav1.Contract{}, has(yes, "Declared", "1.2.0 can be used", 1), []string{"Normal Declared Declare 1.2.0 can be used"}},
		"another version":                {has(yes, "Declared", "1.2.0 can be used", 1), has(yes, "Declared", "1.3.0 can be used", 2), []string{"Normal Declared Declare 1.3.0 can be used"}},
		"a refused version":              {has(yes, "Declared", "1.2.0 can be used", 1), has(no, "BreakingChange", "it breaks", 1), []string{"Warning BreakingChange Declare it breaks"}},
		"it is still refused":            {has(no, "BreakingChange", "it breaks", 1), has(no, "BreakingChange", "it breaks", 1), nil},
		"it is corrected":                {has(no, "BreakingChange", "it breaks", 1), has(yes, "Declared", "as before", 1), []string{"Normal Declared Declare as before"}},
		"the first stack publishes it":   {has(yes, "Declared", "nobody", 1), has(yes, "Declared", "somebody", 1, first), []string{"Normal Published Publish prod/network published base 1.2.0, revision 1"}},
		"a revision that people approve": {has(yes, "Declared", "", 1, first), has(yes, "Declared", "", 1, second), []string{"Normal Published Publish prod/network published base 1.2.0, revision 2, approved by ada"}},
		"nothing changes":                {has(yes, "Declared", "", 1, second), has(yes, "Declared", "", 1, second), nil},
		"it is published no more":        {has(yes, "Declared", "", 1, second), has(yes, "Declared", "", 1), []string{"Normal Retired Retire prod/network does not publish base 1.2.0 any more"}},
	} {
		var got []string
		for _, n := range newsOf(test.before, test.after) {
			got = append(got, fmt.Sprint(n.severity, " ", n.reason, " ", n.action, " ", n.message))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
	if got := newsOf(has(yes, "Declared", "", 1), has(yes, "Declared", "", 1, many...)); len(got) != maxNews {
		t.Errorf("%d events of a thousand producers", len(got))
	}
}
