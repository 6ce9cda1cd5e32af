// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// policy is a policy as the page shows it.
type policy struct {
	Kind, Namespace, Name string
	State                 standing.State
	Says, Selects         string
	// Stacks counts the selected stacks that the person sees; -1 if the page does not know.
	Stacks      int
	Rules       []string
	Effect      string
	Enforcement string
	AutoApprove bool
	Problems    []string
	Trial       string
}

// soon is how long before its end an exemption is a problem.
const soon = 7 * 24 * time.Hour

func policyOf(o *yubav1.Policy, stacks []*infrav1.Terraform, now time.Time) policy {
	p := describe("Policy", o, o.Spec, o.Status, now)
	p.Stacks = selected(o.Spec.Selector, o.Namespace, stacks)
	return p
}

func clusterPolicyOf(o *yubav1.ClusterPolicy, stacks []*infrav1.Terraform, now time.Time) policy {
	p := describe("ClusterPolicy", o, o.Spec.PolicySpec, o.Status, now)
	if o.Spec.NamespaceSelector == nil {
		p.Stacks = selected(o.Spec.Selector, "", stacks)
		return p
	}
	p.Stacks = -1 // labels of namespaces are not watched for this page
	p.Selects += ", in namespaces with " + metav1.FormatLabelSelector(o.Spec.NamespaceSelector)
	return p
}

func describe(kind string, o metav1.Object, spec yubav1.PolicySpec, status yubav1.PolicyStatus, now time.Time) policy {
	p := policy{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), Effect: string(cmp.Or(spec.OnViolation, yubav1.PolicyRequireApproval)),
		Enforcement: string(cmp.Or(spec.Enforcement, yubav1.PolicyEnforce)), AutoApprove: spec.AutoApprove, Selects: metav1.FormatLabelSelector(&spec.Selector)}
	if len(spec.Selector.MatchLabels)+len(spec.Selector.MatchExpressions) == 0 {
		p.Selects = "all stacks"
	}
	p.State, p.Says = standing.OfConditions(o, status.Conditions, false)
	for i, r := range spec.Rules {
		p.Rules = append(p.Rules, ruleName(i, r))
	}
	for _, e := range spec.Exemptions {
		switch left := e.Expires.Sub(now); {
		case left < 0:
			p.Problems = append(p.Problems, "An exemption has expired: "+e.Reason)
		case left < soon:
			p.Problems = append(p.Problems, fmt.Sprintf("An exemption expires %s: %s", site.Relative(e.Expires.Time, now), e.Reason))
		}
	}
	p.Trial = trialPage + "?" + url.Values{"kind": {kind}, "namespace": {p.Namespace}, "name": {p.Name}}.Encode()
	return p
}

// ruleName names a rule as findings do.
func ruleName(i int, r yubav1.PolicyRule) string {
	kind := "rego"
	if r.CEL != "" {
		kind = "cel"
	}
	return cmp.Or(r.Builtin, r.Name, fmt.Sprintf("%s-%d", kind, i+1))
}

func selected(by metav1.LabelSelector, namespace string, stacks []*infrav1.Terraform) int {
	selector, err := metav1.LabelSelectorAsSelector(&by)
	if err != nil {
		return 0
	}
	n := 0
	for _, t := range stacks {
		if (namespace == "" || t.Namespace == namespace) && selector.Matches(labels.Set(t.Labels)) {
			n++
		}
	}
	return n
}

// verdict is what policies said about a plan.
type verdict struct {
	Key, Address, Plan string
	State              standing.State
	Decision           string
	Says               string
	Findings           []infrav1.PolicyFinding
	Exempted           int
	Approvals          []string
}

// states are the marks of decisions.
var states = map[infrav1.PolicyDecision]standing.State{
	infrav1.PolicyRefused: standing.Failed, infrav1.PolicyHeld: standing.Pending, infrav1.PolicyApproved: standing.Ready, infrav1.PolicyFreed: standing.Ready, infrav1.PolicyPassed: standing.Ready,
}

// verdictsOf are the verdicts about pending plans, those first that need somebody.
func verdictsOf(stacks []*infrav1.Terraform) []verdict {
	var list []verdict
	for _, t := range stacks {
		p := t.Status.Plan.Policy
		if p == nil || t.Status.Plan.Pending == "" {
			continue
		}
		v := verdict{Key: t.Namespace + "/" + t.Name, Address: site.Path("stacks", t.Namespace, t.Name), Plan: t.Status.Plan.Pending, State: states[p.Decision],
			Decision: string(p.Decision), Says: p.Message, Findings: p.Findings, Exempted: len(p.Exempted)}
		for _, a := range t.Status.Plan.Approvals {
			v.Approvals = append(v.Approvals, a.User)
		}
		list = append(list, v)
	}
	slices.SortStableFunc(list, func(a, b verdict) int { return a.State.Rank() - b.State.Rank() })
	return list
}
