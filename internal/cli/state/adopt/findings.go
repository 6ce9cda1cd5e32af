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
)

// Examine says what happens to a stack.
func Examine(f Facts) StackReport {
	r := StackReport{Namespace: f.Stack.Namespace, Name: f.Stack.Name, Findings: []Finding{}}
	rules := []func(Facts) []Finding{aboutState, aboutLock, aboutSource, aboutOutputs, aboutPlan, aboutMode, aboutDeletion, aboutFields, aboutLeftovers}
	if !f.Stack.DeletionTimestamp.IsZero() && !f.Stack.Spec.DestroyResourcesOnDeletion {
		// Nothing is needed to let it go: no state, no lock, no source.
		rules = []func(Facts) []Finding{aboutDeletion, aboutLeftovers}
	}
	for _, rule := range rules {
		r.Findings = append(r.Findings, rule(f)...)
	}
	r.Attention = needsAHand(r.Findings)
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
		return one(Fine, "state", "The backend that the stack names keeps the state, and is used as it is.")
	case s.Unknown != "":
		return one(Attention, "state", "Secret %s could not be read, so nothing is known of the state: %s", s.Secret, s.Unknown)
	case s.Unreadable != "":
		return one(Attention, "state", "Secret %s holds no state that can be read: %s. Nothing runs until it does.", s.Secret, s.Unreadable)
	case !s.Found && f.Stack.Status.LastAppliedRevision != "":
		return one(Attention, "state", "The stack has been applied, and its state is not there: Secret %s is missing. Nothing runs until it is back, "+
			"because everything would be created once more.", s.Secret)
	case !s.Found:
		return one(Fine, "state", "There is none yet; the first apply begins it in Secret %s.", s.Secret)
	case s.Elsewhere:
		return one(Fine, "state", "Yuba keeps it already; Secret %s says where.", s.Secret)
	case s.Encrypted:
		return append(one(Fine, "state", "Secret %s, encrypted by OpenTofu, is used as it is.", s.Secret), aboutSharers(f)...)
	}
	return append(one(Fine, "state", "Secret %s is used as it is: serial %d, %s, %d KiB.", s.Secret, s.Serial, counted(s.Resources, "resource"), (s.Size+1023)/1024),
		aboutSharers(f)...)
}

// aboutSharers: two that write one state damage it, whoever the controller is. The branch planner's only plan.
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
	return one(Attention, "state", "It is also the state of %s. Only one of them may have it; give the others a backendConfig.secretSuffix or workspace of their own.",
		strings.Join(writers, ", "))
}

func aboutLock(f Facts) []Finding {
	switch force := f.Stack.Spec.TFState; {
	case f.LockProblem != "":
		return one(Attention, "lock", "Who holds the lock is not known: %s", f.LockProblem)
	case f.Lock == nil:
		return nil
	case force != nil && (force.ForceUnlock == infrav1.ForceUnlockAuto || force.ForceUnlock == infrav1.ForceUnlockYes && force.LockIdentifier == f.Lock.ID):
		return one(Note, "lock", "%s holds it %s. It is broken, because spec.tfstate says so.", holder(f), since(f.Now, f.Lock.Created))
	}
	found := one(Attention, "lock", "%s holds it %s, for %s. Whether that is still at work nobody can tell from here; Yuba waits, and plans and applies "+
		"nothing meanwhile. When it is gone, release the lock once Yuba runs:", holder(f), since(f.Now, f.Lock.Created), cmp.Or(f.Lock.Operation, "something unnamed"))
	return do(found, "yuba force-unlock %s -n %s --lock-id %s", f.Stack.Name, f.Stack.Namespace, f.Lock.ID)
}

func holder(f Facts) string { return cmp.Or(f.Lock.Who, "Somebody unnamed") }

func since(now, then time.Time) string {
	if then.IsZero() {
		return "since nobody knows when"
	}
	return fmt.Sprintf("since %s (%s ago)", then.UTC().Format(time.RFC3339), max(now.Sub(then), 0).Round(time.Second))
}

func aboutSource(f Facts) []Finding {
	s := f.Source
	switch {
	case s == nil:
		return nil
	case s.Problem != "":
		return one(Attention, "source", "%s could not be read: %s", s.Name, s.Problem)
	case !s.Found:
		return one(Attention, "source", "%s does not exist. The stack waits for it; it can be deleted without.", s.Name)
	case !s.Artifact:
		return one(Attention, "source", "%s has no artifact%s. The stack waits for it.", s.Name, told(s.Message))
	case s.OtherNamespace:
		return do(one(Note, "source", "%s is in another namespace, which the server must allow:", s.Name), "yuba controller --allow-cross-namespace")
	}
	return nil
}

func told(message string) string {
	if message == "" {
		return ""
	}
	return " (" + message + ")"
}

// aboutOutputs: what tofu-controller overwrote Yuba leaves alone, and says so.
func aboutOutputs(f Facts) []Finding {
	if f.OutputsOwner == "" && f.OutputsProblem == "" {
		return nil
	}
	name := f.Stack.Spec.WriteOutputsToSecret.Name
	if f.OutputsProblem != "" {
		return one(Attention, "outputs", "Secret %s could not be read, so nothing is known of it: %s", name, f.OutputsProblem)
	}
	return one(Attention, "outputs", "Secret %s belongs to %s. Yuba does not overwrite it, and the stack is not Ready until that Secret is deleted "+
		"or spec.writeOutputsToSecret names another one.", name, f.OutputsOwner)
}

func aboutPlan(f Facts) []Finding {
	p, spec := f.Stack.Status.Plan, &f.Stack.Spec
	switch {
	case p.Pending == "":
		return nil
	case p.Digest != "":
		return one(Fine, "plan", "Plan %s, which Yuba made, goes on waiting.", p.Pending)
	case spec.ApprovePlan == p.Pending:
		return one(Note, "plan", "Plan %s waits, and spec.approvePlan names it. It is planned anew and never applied itself, because tofu-controller "+
			"does not say what is in it. The new plan is to be approved once more.", p.Pending)
	}
	return one(Note, "plan", "Plan %s waits. It is shown until Yuba has planned anew, and never applied itself.", p.Pending)
}

func aboutMode(f Facts) []Finding {
	spec := &f.Stack.Spec
	switch {
	case spec.Suspend:
		return one(Note, "mode", "It is suspended, and stays so.")
	case spec.Destroy && (f.Stack.AutoApproves() || spec.Force):
		return one(Note, "mode", "It is to be destroyed without approval, and is.")
	case spec.Force && !f.Stack.DriftOnly():
		return do(one(Note, "mode", "spec.force: it is planned and applied at once, without approval. To look before:"), "yuba suspend %s -n %s", f.Stack.Name, f.Stack.Namespace)
	case f.Stack.AutoApproves():
		return do(one(Note, "mode", "spec.approvePlan is auto: if the first plan finds changes, they are applied at once. To look before:"),
			"yuba suspend %s -n %s", f.Stack.Name, f.Stack.Namespace)
	}
	return nil
}

func aboutDeletion(f Facts) []Finding {
	if f.Stack.DeletionTimestamp.IsZero() {
		return nil
	}
	if f.Stack.Spec.DestroyResourcesOnDeletion {
		return one(Note, "deletion", "It is being deleted %s. Yuba goes on with that, and destroys what the stack manages.", since(f.Now, f.Stack.DeletionTimestamp.Time))
	}
	return one(Note, "deletion", "It is being deleted %s. Yuba goes on with that; what the stack manages stays.", since(f.Now, f.Stack.DeletionTimestamp.Time))
}

func aboutFields(f Facts) []Finding {
	var found []Finding
	for _, kind := range []struct {
		support infrav1.Support
		level   Level
		message string
	}{
		{infrav1.SupportRefused, Attention, "Nothing runs, because this version does not honour %s yet."},
		{infrav1.SupportIgnored, Note, "Without effect in this version: %s."},
		{infrav1.SupportPods, Note, "Without effect, because runs are no Pods: %s."},
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
		found = one(Note, "old plans", "Plans of tofu-controller are left as they are, and go with the stack: %s.", strings.Join(f.OldPlans, ", "))
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
		found = append(found, one(Note, "finalizers", "Kept for %s: Yuba looks itself at what depends on it, and removes what is not needed.", strings.Join(dependants, ", "))...)
	}
	if len(strange) > 0 {
		found = append(found, one(Note, "finalizers", "Not tofu-controller's, and left alone: %s.", strings.Join(strange, ", "))...)
	}
	return found
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
