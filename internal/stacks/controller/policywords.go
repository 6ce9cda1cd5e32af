// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

// describePlanByPolicy says in the condition Plan what policies make of the pending plan. The reason
// stays the published one.
func describePlanByPolicy(obj *infrav1.Terraform) {
	is := conditions.Of(obj, infrav1.ConditionPlan)
	if obj.Status.Plan.Pending == "" || is.Status != metav1.ConditionTrue || is.Reason != infrav1.ReasonPlannedWithChanges {
		return
	}
	message := infrav1.MessagePlanGenerated
	switch v := verdictOf(obj); {
	case v == nil || obj.Status.Plan.Approved:
	case v.Opinion == decide.OpinionRefused:
		message += ": refused by policy: " + v.Message
	case v.Opinion == decide.OpinionHeld, v.Opinion == decide.OpinionPassed && obj.HeldByPolicy() && !obj.Status.Plan.IsDeletionPlan:
		message += ": waits for a person: " + v.Message
	}
	setCondition(obj, infrav1.ConditionPlan, is.Status, is.Reason, message)
}

// withPolicy replaces the last line of a message about drift, which says how to approve the plan, if
// policies hold the plan.
func withPolicy(obj *infrav1.Terraform, ready, message string) string {
	at := strings.LastIndexByte(ready, '\n')
	if at < 0 || !obj.HeldByPolicy() || !strings.HasPrefix(ready[at+1:], "Plan ") {
		return ready
	}
	return ready[:at+1] + message
}

// roomForRules is what "Deletion refused by " leaves of a summary.
const roomForRules = maxSummary - len("Deletion refused by ")

// policiesInShort names the rules that hold or refuse the pending plan; empty if none does.
func (s situation) policiesInShort() string {
	v := s.obj.Status.Plan.Policy
	if v == nil || s.obj.Status.Plan.Pending == "" {
		return ""
	}
	words := "held by "
	switch v.Decision {
	case infrav1.PolicyRefused:
		words = "refused by "
	case infrav1.PolicyHeld:
	default:
		return ""
	}
	full := s.obj.ObjectingRules()
	short := make([]string, 0, len(full))
	for _, name := range full {
		short = append(short, name[strings.IndexByte(name, '/')+1:])
	}
	slices.Sort(short)
	short = slices.Compact(short)
	switch {
	case len(full) == 0:
		return strings.TrimSuffix(words, " by ") + " by policy"
	case len(full) == 1 && utf8.RuneCountInString(full[0]) <= roomForRules:
		return words + full[0]
	case utf8.RuneCountInString(strings.Join(short, ", ")) <= roomForRules:
		return words + strings.Join(short, ", ")
	case len(short) == 1:
		return words + cutTo(short[0], roomForRules)
	}
	return words + fmt.Sprintf("%d rules", len(full))
}

// ownersNotes name the owners by CODEOWNERS for whom the pending plan waits.
func ownersNotes(obj *infrav1.Terraform) (notes []string) {
	v := obj.Status.Plan.Policy
	if v == nil || obj.Status.Plan.Pending == "" || v.Decision != infrav1.PolicyHeld {
		return nil
	}
	for _, o := range v.Owners {
		if !o.Approved {
			notes = append(notes, fmt.Sprintf("One of %s must approve plan %s: they own %s.", strings.Join(o.Names, ", "), obj.Status.Plan.Pending, o.Path))
		}
	}
	if v.OwnersNote != "" {
		notes = append(notes, "Owners by "+v.OwnersNote)
	}
	return notes
}
