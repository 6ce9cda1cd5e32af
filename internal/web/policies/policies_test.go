// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/policy/audit"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func stack(namespace, name string, labels map[string]string) *infrav1.Terraform {
	return &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
}

func TestPolicies(t *testing.T) {
	stacks := []*infrav1.Terraform{stack("prod", "a", map[string]string{"team": "net"}), stack("prod", "b", nil), stack("dev", "a", map[string]string{"team": "net"})}
	spec := yubav1.PolicySpec{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"team": "net"}}, Rules: []yubav1.PolicyRule{{Builtin: "pinned"}, {CEL: "x"}, {Name: "mine", CEL: "y"}, {Rego: &yubav1.PolicyRego{}}},
		Exemptions: []yubav1.PolicyExemption{{Reason: "old", Expires: metav1.NewTime(now.Add(-time.Hour))}, {Reason: "soon", Expires: metav1.NewTime(now.Add(2 * time.Hour))},
			{Reason: "later", Expires: metav1.NewTime(now.Add(1000 * time.Hour))}}}
	local := policyOf(&yubav1.Policy{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "p"}, Spec: spec}, stacks, now)
	everywhere := clusterPolicyOf(&yubav1.ClusterPolicy{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: yubav1.ClusterPolicySpec{PolicySpec: spec}}, stacks, now)
	if local.Stacks != 1 || everywhere.Stacks != 2 {
		t.Errorf("%d and %d stacks", local.Stacks, everywhere.Stacks)
	}
	if got := strings.Join(local.Rules, " "); got != "pinned cel-2 mine rego-4" {
		t.Error(got)
	}
	if got := strings.Join(local.Problems, "|"); got != "An exemption has expired: old|An exemption expires in 2 h: soon" {
		t.Error(got)
	}
}

func TestVerdicts(t *testing.T) {
	judged := func(name string, d infrav1.PolicyDecision) *infrav1.Terraform {
		s := stack("prod", name, nil)
		s.Status.Plan = infrav1.PlanStatus{Pending: "plan-1", Policy: &infrav1.PolicyVerdict{Decision: d}}
		return s
	}
	gone := judged("gone", infrav1.PolicyHeld)
	gone.Status.Plan.Pending = ""
	var lines []string
	for _, v := range verdictsOf([]*infrav1.Terraform{judged("freed", infrav1.PolicyFreed), judged("held", infrav1.PolicyHeld), gone, judged("refused", infrav1.PolicyRefused), stack("prod", "no", nil)}) {
		lines = append(lines, v.Key+" "+string(v.State))
	}
	if got := strings.Join(lines, "|"); got != "prod/refused failed|prod/held pending|prod/freed ready" {
		t.Error(got)
	}
}

func TestTrialCommands(t *testing.T) {
	for want, c := range map[string]struct{ kind, namespace string }{
		"yuba kubectl get Policy p -n prod -o yaml > policy.yaml|yuba policy try policy.yaml": {"Policy", "prod"},
		"yuba kubectl get ClusterPolicy p -o yaml > policy.yaml|yuba policy try policy.yaml":  {"ClusterPolicy", ""},
	} {
		if got := strings.Join(trialCommands(c.kind, types.NamespacedName{Namespace: c.namespace, Name: "p"}), "|"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The log is a file for each record, and a page must not read a hundred thousand of them.
func TestTheLogIsReadInPartsUpToALimit(t *testing.T) {
	at := now
	clock := func() time.Time { return at }
	parts := func(n, each int, takes time.Duration) (read func(string) (content.AuditList, error), asked *[]string) {
		asked = new([]string)
		return func(after string) (content.AuditList, error) {
			*asked = append(*asked, after)
			at = at.Add(takes)
			list := content.AuditList{Chains: []audit.Chain{{Namespace: "a", Stack: fmt.Sprint(len(*asked)), Items: make([]audit.Entry, each)}}}
			if len(*asked) < n {
				list.Continue = fmt.Sprint("place-", len(*asked))
			}
			return list, nil
		}, asked
	}
	for sentence, c := range map[string]struct {
		n, each int
		takes   time.Duration
		want    string
	}{
		"to its end":    {3, 1000, 0, "3 chains, cut false, after  place-1 place-2"},
		"many records":  {9, 1000, 0, "5 chains, cut true, after  place-1 place-2 place-3 place-4"},
		"a slow store":  {9, 1, 2 * time.Second, "2 chains, cut true, after  place-1"},
		"nothing of it": {1, 0, time.Minute, "1 chains, cut false, after "},
	} {
		read, asked := parts(c.n, c.each, c.takes)
		chains, cut, err := readLog(read, clock)
		if got := fmt.Sprintf("%d chains, cut %v, after %s", len(chains), cut, strings.Join(*asked, " ")); err != nil || got != c.want {
			t.Errorf("%s: %s %v, want %s", sentence, got, err, c.want)
		}
	}
}

func TestRecords(t *testing.T) {
	entry := func(at time.Time, user, verdict string) audit.Entry {
		e, err := audit.Seal(audit.Record{Format: audit.Format, Number: 1, At: at, Kind: audit.KindApproval, Who: audit.Who{User: user}, Verdict: verdict})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	chains := []audit.Chain{{Namespace: "prod", Stack: "a", Items: []audit.Entry{entry(now, "eva", "Held"), {Digest: "x", Record: []byte("no")}}}, {Namespace: "dev", Stack: "b", Items: []audit.Entry{entry(now.Add(time.Hour), "tom", "Freed")}}}
	for query, want := range map[string]string{"": "dev/b tom false|prod/a eva false|prod/a  true", "EVA held": "prod/a eva false", "nobody": ""} {
		var lines []string
		for _, r := range recordsOf(chains, query) {
			lines = append(lines, fmt.Sprintf("%s %s %v", r.Key, r.Who.User, r.Unreadable))
		}
		if got := strings.Join(lines, "|"); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}
