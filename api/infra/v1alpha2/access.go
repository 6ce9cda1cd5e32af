// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What stacks have when they do not say otherwise.
const (
	DefaultRetryInterval      = 15 * time.Second
	DefaultMaxRetryInterval   = 24 * time.Hour
	DefaultHealthCheckTimeout = 20 * time.Second
	DefaultGracePeriod        = 30 * time.Second
)

// inlineMain is the file that the program in values.hcl becomes.
const inlineMain = "main.tf"

// GetConditions returns the stack's conditions.
func (t *Terraform) GetConditions() []metav1.Condition { return t.Status.Conditions }

// SetConditions replaces the stack's conditions.
func (t *Terraform) SetConditions(conditions []metav1.Condition) { t.Status.Conditions = conditions }

// GetDependsOn returns the stacks that must be ready before this one.
func (t *Terraform) GetDependsOn() []meta.NamespacedObjectReference { return t.Spec.DependsOn }

// WorkspaceName is the stack's workspace, "default" when it names none.
func (t *Terraform) WorkspaceName() string {
	if t.Spec.Workspace == "" {
		return DefaultWorkspace
	}
	return t.Spec.Workspace
}

// StateSuffix is the end of the state Secret's name: backendConfig.secretSuffix, or the stack's name.
func (t *Terraform) StateSuffix() string {
	if b := t.Spec.BackendConfig; b != nil && b.SecretSuffix != "" {
		return b.SecretSuffix
	}
	return t.Name
}

// StateSecretName is the name of the Secret that keeps the stack's state.
func (t *Terraform) StateSecretName() string {
	return StateSecretName(t.WorkspaceName(), t.StateSuffix())
}

// LeaseName is the name of the Lease that locks the stack's state.
func (t *Terraform) LeaseName() string {
	return StateLeaseName(t.WorkspaceName(), t.StateSuffix())
}

// KeepsOwnState is true when the stack names a backend of its own or leaves the choice to the module, so that its state
// is not kept in a Secret by Yuba.
func (t *Terraform) KeepsOwnState() bool {
	b := t.Spec.BackendConfig
	return t.Spec.Cloud != nil || b != nil && (b.Disable || b.CustomConfiguration != "" || b.ConfigPath != "")
}

// AutoApproves is true when every plan is approved.
func (t *Terraform) AutoApproves() bool { return t.Spec.ApprovePlan == ApprovePlanAuto }

// DriftOnly is true when drift is looked for and nothing is ever applied.
func (t *Terraform) DriftOnly() bool { return t.Spec.ApprovePlan == ApprovePlanDisable }

// AwaitsApproval is true when a person's word is what is missing for the pending plan to be applied.
func (t *Terraform) AwaitsApproval() bool {
	p := t.Status.Plan
	return p.Pending != "" && !p.Approved && !t.Spec.PlanOnly && !t.Spec.Suspend && !t.DriftOnly() &&
		(!t.AutoApproves() || t.HoldsPlans() && t.Annotations[AnnotationApproved] != p.Pending) &&
		t.Spec.ApprovePlan != p.Pending && t.Annotations[AnnotationRejected] != p.Pending
}

// HoldsPlans is true when the pending plan waits for a person although plans are applied automatically: a circuit breaker
// holds it, or the state is that of a deleted stack.
func (t *Terraform) HoldsPlans() bool {
	return t.Status.Plan.HeldBy != "" || t.Status.TakenOver != nil
}

// GetRetryInterval is the wait after a failure, 15 seconds when the stack does not say.
func (t *Terraform) GetRetryInterval() time.Duration {
	return durationOr(t.Spec.RetryInterval, DefaultRetryInterval)
}

// GetMaxRetryInterval is the longest wait after failures, 24 hours when the stack does not say.
func (t *Terraform) GetMaxRetryInterval() time.Duration {
	return durationOr(t.Spec.MaxRetryInterval, DefaultMaxRetryInterval)
}

// GetDriftDetectionInterval is how often drift is looked for: driftDetectionInterval, or interval.
func (t *Terraform) GetDriftDetectionInterval() time.Duration {
	return durationOr(t.Spec.DriftDetectionInterval, t.Spec.Interval.Duration)
}

// GetGracePeriod is how long the tool has to finish before it is killed, 30 seconds when the stack does not say.
func (t *Terraform) GetGracePeriod() time.Duration {
	if s := t.Spec.RunnerTerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return DefaultGracePeriod
}

// UpgradesOnInit is true when init may upgrade modules and providers, which is the default.
func (t *Terraform) UpgradesOnInit() bool { return boolOr(t.Spec.UpgradeOnInit, true) }

// CleansUpRunnerPod is true when a run's Pod is deleted with the end of the run, which is the default.
func (t *Terraform) CleansUpRunnerPod() bool { return boolOr(t.Spec.AlwaysCleanupRunnerPod, true) }

// ReconcileRequest is the value of the annotation that asks for a pass; it is handled once status.lastHandledReconcileAt
// has it.
func (t *Terraform) ReconcileRequest() string { return t.Annotations[AnnotationReconcile] }

// The forms in which a readable plan is kept.
const (
	ReadablePlanHuman = "human"
	ReadablePlanJSON  = "json"
)

// ReadablePlanForm is the form in which readable plans are kept; empty when none are.
func (t *Terraform) ReadablePlanForm() string {
	if f := t.Spec.StoreReadablePlan; f == ReadablePlanHuman || f == ReadablePlanJSON {
		return f
	}
	return ""
}

// ActiveWebhooks are the indices of the webhooks that are asked about plans.
func (t *Terraform) ActiveWebhooks() []int {
	var active []int
	for i, hook := range t.Spec.Webhooks {
		if hook.Stage == WebhookPostPlanning && boolOr(hook.Enabled, true) {
			active = append(active, i)
		}
	}
	return active
}

// SourceNamespace is the namespace of the stack's source, empty when the stack has no sourceRef.
func (t *Terraform) SourceNamespace() string {
	switch {
	case t.Spec.SourceRef == nil:
		return ""
	case t.Spec.SourceRef.Namespace == "":
		return t.Namespace
	default:
		return t.Spec.SourceRef.Namespace
	}
}

// InlineProgram returns the files of a program that is written in the object, and whether there is one: values.hcl
// wins over inline, and both over sourceRef. The map is the caller's own.
func (t *Terraform) InlineProgram() (map[string]string, bool) {
	if hcl, ok := t.ValuesHCL(); ok {
		return map[string]string{inlineMain: hcl}, true
	}
	if len(t.Spec.Inline) == 0 {
		return nil, false
	}
	files := make(map[string]string, len(t.Spec.Inline))
	for name, content := range t.Spec.Inline {
		files[name] = content
	}
	return files, true
}

// ValuesHCL returns the program in values.hcl, and whether there is one: values is then an object with the single key
// hcl, whose value is a string. Any other values are the variable of that name.
func (t *Terraform) ValuesHCL() (string, bool) {
	if t.Spec.Values == nil {
		return "", false
	}
	var object map[string]any
	if err := json.Unmarshal(t.Spec.Values.Raw, &object); err != nil || len(object) != 1 {
		return "", false
	}
	hcl, ok := object["hcl"].(string)
	return hcl, ok
}

// GetTimeout is how long the check may take, 20 seconds when it does not say.
func (c HealthCheck) GetTimeout() time.Duration {
	return durationOr(c.Timeout, DefaultHealthCheckTimeout)
}

// IsEnabled is true unless the webhook is switched off.
func (w Webhook) IsEnabled() bool { return boolOr(w.Enabled, true) }

// Locks is true unless plans are to be made without the state's lock. A nil spec locks.
func (p *PlanSpec) Locks() bool { return p == nil || boolOr(p.Lock, true) }

func durationOr(d *metav1.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return d.Duration
}

func boolOr(b *bool, otherwise bool) bool {
	if b == nil {
		return otherwise
	}
	return *b
}

// Entry is the index of the entry that stands for a run: its own, or the first one, which counts older runs, too.
func (u *UnprovenStatus) Entry(run string) int {
	return max(0, slices.IndexFunc(u.Runs, func(r UnprovenRun) bool { return r.ID == run }))
}

// UpTo says of which runs an acknowledgement takes off what they left: of the one that it names and of those that were
// listed before it. Ids do not tell which those are, for clocks are set back. Only a run without an entry is compared by
// its id.
func (u *UnprovenStatus) UpTo(named string) func(run string) bool {
	last := slices.IndexFunc(u.Runs, func(r UnprovenRun) bool { return r.ID == named })
	return func(run string) bool {
		if last < 0 {
			return run <= named
		}
		return u.Entry(run) <= last
	}
}

// Called says whether a person means this resource: by its address, or by the digest that tells it from others whose
// addresses look the same.
func (r *UnprovenResource) Called(name string) bool {
	return name != "" && (name == r.Address || name == r.Match)
}
