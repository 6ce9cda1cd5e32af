// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// Examine reports what happens to a stack.
func Examine(f Facts) StackReport {
	r := StackReport{Namespace: f.Stack.Namespace, Name: f.Stack.Name, Findings: []Finding{}}
	rules := []func(Facts) []Finding{aboutState, aboutLock, aboutSource, aboutOutputs, aboutPlan, aboutMode, aboutDeletion, aboutFields, aboutLeftovers}
	if !f.Stack.DeletionTimestamp.IsZero() && !f.Stack.Spec.DestroyResourcesOnDeletion {
		// Its deletion needs neither state, lock nor source.
		rules = []func(Facts) []Finding{aboutDeletion, aboutLeftovers}
	}
	for _, rule := range rules {
		r.Findings = append(r.Findings, rule(f)...)
	}
	r.Attention = needsAttention(r.Findings)
	return r
}

func one(level Level, subject, format string, args ...any) []Finding {
	return []Finding{{Level: level, Subject: subject, Message: fmt.Sprintf(format, args...)}}
}

// do adds a command to the last finding.
func do(findings []Finding, format string, args ...any) []Finding {
	findings[len(findings)-1].Command = fmt.Sprintf(format, args...)
	return findings
}

func aboutState(f Facts) []Finding {
	s := f.State
	switch {
	case s == nil:
		return one(Fine, "state", "Yuba uses the custom backend of the stack as it is.")
	case s.Unknown != "":
		return one(Attention, "state", "Cannot read Secret %s, so the state is unknown: %s", s.Secret, s.Unknown)
	case s.Unreadable != "":
		return one(Attention, "state", "Secret %s does not contain a readable state: %s. Yuba runs nothing until it does.", s.Secret, s.Unreadable)
	case !s.Found && f.Stack.Status.LastAppliedRevision != "":
		return one(Attention, "state", "The stack was applied, but its state is missing: Secret %s does not exist. Yuba runs nothing until it is restored, "+
			"because an apply would create everything again.", s.Secret)
	case !s.Found:
		return one(Fine, "state", "The stack has no state yet; the first apply creates it in Secret %s.", s.Secret)
	case s.Elsewhere:
		return one(Fine, "state", "Yuba already stores the state; Secret %s names the place.", s.Secret)
	case s.Encrypted:
		return append(one(Fine, "state", "Yuba uses Secret %s, encrypted by OpenTofu, as it is.", s.Secret), aboutSharers(f)...)
	}
	return append(one(Fine, "state", "Yuba uses Secret %s as it is: serial %d, %s, %d KiB.", s.Secret, s.Serial, ui.Count(s.Resources, "resource"), (s.Size+1023)/1024),
		aboutSharers(f)...)
}

// aboutSharers: two stacks that write one state damage it. The branch planner's stacks only plan.
func aboutSharers(f Facts) []Finding {
	var writers []string
	for _, other := range f.Sharers {
		if !other.Spec.PlanOnly {
			writers = append(writers, other.Namespace+"/"+other.Name)
		}
	}
	if len(writers) == 0 || f.Stack.Spec.PlanOnly {
		return nil
	}
	return one(Attention, "state", "%s has the same state. Only one stack may write it; give the others their own backendConfig.secretSuffix or workspace.",
		strings.Join(writers, ", "))
}

func aboutLock(f Facts) []Finding {
	switch force := f.Stack.Spec.TFState; {
	case f.LockProblem != "":
		return one(Attention, "lock", "The lock holder is unknown: %s", f.LockProblem)
	case f.Lock == nil:
		return nil
	case force != nil && (force.ForceUnlock == infrav1.ForceUnlockAuto || force.ForceUnlock == infrav1.ForceUnlockYes && force.LockIdentifier == f.Lock.ID):
		return one(Note, "lock", "%s holds the lock %s. Yuba breaks it, because spec.tfstate requests it.", holder(f), since(f.Now, f.Lock.Created))
	}
	found := one(Attention, "lock", "%s holds the lock %s, for %s. Yuba cannot check whether the holder is still running, so it waits and neither plans nor "+
		"applies. If the holder is gone, release the lock after Yuba has started:", holder(f), since(f.Now, f.Lock.Created), cmp.Or(f.Lock.Operation, "an unknown operation"))
	return do(found, "yuba force-unlock %s -n %s --lock-id %s", f.Stack.Name, f.Stack.Namespace, f.Lock.ID)
}

func holder(f Facts) string { return cmp.Or(f.Lock.Who, "An unknown holder") }

func since(now, then time.Time) string {
	if then.IsZero() {
		return "since an unknown time"
	}
	return fmt.Sprintf("since %s (%s ago)", then.UTC().Format(time.RFC3339), max(now.Sub(then), 0).Round(time.Second))
}

func aboutSource(f Facts) []Finding {
	s := f.Source
	switch {
	case s == nil:
		return nil
	case s.Problem != "":
		return one(Attention, "source", "Cannot read %s: %s", s.Name, s.Problem)
	case !s.Found:
		return one(Attention, "source", "%s does not exist. The stack waits for it, but can be deleted without it.", s.Name)
	case !s.Artifact:
		return one(Attention, "source", "%s has no artifact%s. The stack waits for it.", s.Name, told(s.Message))
	case s.OtherNamespace:
		return do(one(Note, "source", "%s is in another namespace. Allow that on the server:", s.Name), "yuba controller --allow-cross-namespace")
	}
	return nil
}

func told(message string) string {
	if message == "" {
		return ""
	}
	return " (" + message + ")"
}

// aboutOutputs: unlike tofu-controller, Yuba does not overwrite the Secret of another owner.
func aboutOutputs(f Facts) []Finding {
	if f.OutputsOwner == "" && f.OutputsProblem == "" {
		return nil
	}
	name := f.Stack.Spec.WriteOutputsToSecret.Name
	if f.OutputsProblem != "" {
		return one(Attention, "outputs", "Cannot read Secret %s: %s", name, f.OutputsProblem)
	}
	return one(Attention, "outputs", "Secret %s belongs to %s. Yuba does not overwrite it. The stack does not become Ready until that Secret is deleted "+
		"or spec.writeOutputsToSecret names another one.", name, f.OutputsOwner)
}

func aboutPlan(f Facts) []Finding {
	p, spec := f.Stack.Status.Plan, &f.Stack.Spec
	switch {
	case p.Pending == "":
		return nil
	case p.Digest != "":
		return one(Fine, "plan", "Plan %s, which Yuba made, stays pending.", p.Pending)
	case spec.ApprovePlan == p.Pending:
		return one(Note, "plan", "Plan %s is pending, and spec.approvePlan names it. Yuba makes a new plan and does not apply that one, because tofu-controller "+
			"does not expose its content. Approve the new plan.", p.Pending)
	}
	return one(Note, "plan", "Plan %s is pending. Yuba shows it until the new plan is made, and does not apply it.", p.Pending)
}

func aboutMode(f Facts) []Finding {
	spec := &f.Stack.Spec
	switch {
	case spec.Suspend:
		return one(Note, "mode", "The stack is suspended, and stays suspended.")
	case spec.Destroy && (f.Stack.AppliesByItself() || spec.Force):
		return one(Note, "mode", "The stack is configured to be destroyed without approval. Yuba destroys it.")
	case spec.Force && !f.Stack.DriftOnly():
		return do(one(Note, "mode", "spec.force is set: Yuba plans and applies at once, without approval. To review first:"), "yuba suspend %s -n %s", f.Stack.Name, f.Stack.Namespace)
	case f.Stack.AutoApproves():
		return do(one(Note, "mode", "spec.approvePlan is auto: if the first plan finds changes, Yuba applies them at once. To review first:"),
			"yuba suspend %s -n %s", f.Stack.Name, f.Stack.Namespace)
	}
	return nil
}

func aboutDeletion(f Facts) []Finding {
	if f.Stack.DeletionTimestamp.IsZero() {
		return nil
	}
	if f.Stack.Spec.DestroyResourcesOnDeletion {
		return one(Note, "deletion", "The stack has been in deletion %s. Yuba continues, and destroys its resources.", since(f.Now, f.Stack.DeletionTimestamp.Time))
	}
	return one(Note, "deletion", "The stack has been in deletion %s. Yuba continues; its resources stay.", since(f.Now, f.Stack.DeletionTimestamp.Time))
}

func aboutFields(f Facts) []Finding {
	var found []Finding
	for _, kind := range []struct {
		support infrav1.Support
		level   Level
		message string
	}{
		{infrav1.SupportRefused, Attention, "Yuba runs nothing, because this version does not support %s yet."},
		{infrav1.SupportIgnored, Note, "No effect in this version: %s."},
		{infrav1.SupportPods, Note, "No effect, because runs are not Pods: %s."},
	} {
		var names []string
		for _, field := range f.Stack.Spec.Unsupported(kind.support) {
			names = append(names, field.Name())
		}
		if len(names) > 0 {
			found = append(found, one(kind.level, "fields", kind.message, strings.Join(names, ", "))...)
		}
	}
	return found
}

func aboutLeftovers(f Facts) []Finding {
	var found []Finding
	if len(f.OldPlans) > 0 {
		found = one(Note, "old plans", "Plans of tofu-controller stay, and are deleted with the stack: %s.", strings.Join(f.OldPlans, ", "))
	}
	var dependants, strange []string
	for _, finalizer := range f.Stack.Finalizers {
		switch {
		case finalizer == infrav1.Finalizer || finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents:
		case strings.HasPrefix(finalizer, infrav1.DependencyFinalizerPrefix):
			dependants = append(dependants, strings.TrimPrefix(finalizer, infrav1.DependencyFinalizerPrefix))
		default:
			strange = append(strange, finalizer)
		}
	}
	if len(dependants) > 0 {
		found = append(found, one(Note, "finalizers", "Kept for %s: Yuba checks dependants itself, and removes unneeded finalizers.", strings.Join(dependants, ", "))...)
	}
	if len(strange) > 0 {
		found = append(found, one(Note, "finalizers", "Not tofu-controller's, unchanged: %s.", strings.Join(strange, ", "))...)
	}
	return found
}
