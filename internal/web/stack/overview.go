// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// now is the data of the part "stack-now".
type now struct {
	Next     []string
	Facts    []fact
	Warnings []string
	Unproven *unproven
}

// unproven are the resources that interrupted applies may have left behind.
type unproven struct {
	Resources []infrav1.UnprovenResource
	Runs      []infrav1.UnprovenRun
}

// overview shows what a stack is and how it stands.
func (p pages) overview(r *site.Request, t *infrav1.Terraform, page *site.Page) error {
	call := t.Namespace + "/" + t.Name
	n := now{Next: verbs.NextSteps(t, call), Facts: factsOf(t), Warnings: t.Status.Warnings}
	if u := t.Status.Unproven; u != nil {
		n.Unproven = &unproven{u.Resources, u.Runs}
	}
	add(page, "stack-now", n)
	add(page, "stack-actions", controls(r, t))
	if v := verdictsOf(t); v != nil {
		add(page, "stack-verdicts", v)
	}
	add(page, "stack-conditions", conditionsOf(t))
	page.Commands = []string{"yuba status " + call, "yuba kubectl -n " + t.Namespace + " describe terraform " + t.Name}
	return nil
}

// condition is a row of the conditions.
type condition struct {
	Type, Status, Reason, Message string
	Since                         metav1.Time
}

func conditionsOf(t *infrav1.Terraform) []condition {
	rows := make([]condition, 0, len(t.Status.Conditions))
	for _, c := range t.Status.Conditions {
		rows = append(rows, condition{c.Type, string(c.Status), c.Reason, c.Message, c.LastTransitionTime})
	}
	return rows
}

// controls are the buttons of a stack as the person may press them.
type control struct {
	site.Button
	// Type is what the person must type first; empty for nothing. Warns says why.
	Type, Warns string
}

func controls(r *site.Request, t *infrav1.Terraform) []control {
	all := buttonsOf(t)
	out := make([]control, 0, len(all))
	for _, b := range all {
		b.button.Address = address(client.ObjectKeyFromObject(t), b.verb)
		out = append(out, control{r.Allow(b.button, b.right), b.typed, b.warns})
	}
	return out
}
