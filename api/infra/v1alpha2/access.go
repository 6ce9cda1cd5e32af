// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Defaults of stacks.
const (
	DefaultRetryInterval      = 15 * time.Second
	DefaultMaxRetryInterval   = 24 * time.Hour
	DefaultHealthCheckTimeout = 20 * time.Second
	DefaultGracePeriod        = 30 * time.Second
)

// inlineMain is the file name of the program in values.hcl.
const inlineMain = "main.tf"

// ArtifactAuthors is a key in the metadata of an artifact: who made the revision, separated by
// commas. E-mail addresses are those of a commit's author and committer; other names are those of
// users of the API who pushed it. Only servers of sources write it.
const ArtifactAuthors = "yuba.dev/authors"

// SealOfOpenOutputs is the digest of the note about open outputs on a Secret, as in
// status.openOutputsDigest of the stack that wrote it. Many write Secrets, but only Yuba writes a
// stack's status.
func (t *Terraform) SealOfOpenOutputs(note string) string {
	h := sha256.Sum256(fmt.Appendf(nil, "yuba open outputs 2 %s\n%s", t.Salt(), note))
	return "sha256:" + hex.EncodeToString(h[:])
}

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

// StateSuffix ends the state Secret's name: backendConfig.secretSuffix, or the stack's name.
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

// KeepsOwnState is true if Yuba keeps no state Secret: the stack or its module names the backend.
func (t *Terraform) KeepsOwnState() bool {
	b := t.Spec.BackendConfig
	return t.Spec.Cloud != nil || b != nil && (b.Disable || b.CustomConfiguration != "" || b.ConfigPath != "")
}

// AutoApproves is true when every plan is approved.
func (t *Terraform) AutoApproves() bool { return t.Spec.ApprovePlan == ApprovePlanAuto }

// DriftOnly is true with drift detection only: nothing is ever applied.
func (t *Terraform) DriftOnly() bool { return t.Spec.ApprovePlan == ApprovePlanDisable }

// ByPolicy is true when policies decide which plans are applied without a person.
func (t *Terraform) ByPolicy() bool { return t.Spec.ApprovePlan == ApprovePlanPolicy }

// AppliesByItself is true when plans may be applied without a person: all, or those that policies
// free.
func (t *Terraform) AppliesByItself() bool { return t.AutoApproves() || t.ByPolicy() }

// AwaitsApproval is true if only an approval is missing to apply the pending plan.
func (t *Terraform) AwaitsApproval() bool {
	p := t.Status.Plan
	only := !p.IsDeletionPlan && (t.Spec.PlanOnly || t.DriftOnly())
	return p.Pending != "" && !p.Approved && !only && !t.Spec.Suspend && !t.RefusedByPolicy() &&
		(!t.AppliesByItself() || t.HoldsPlans() && (t.Annotations[AnnotationApproved] != p.Pending || t.NeedsRecordedApprovals())) && !t.ApprovedByPeople() &&
		(t.Spec.ApprovePlan != p.Pending || t.NeedsRecordedApprovals()) && t.Annotations[AnnotationRejected] != p.Pending
}

// NeedsRecordedApprovals is true if policies hold the pending plan for people whom the API server
// must have authenticated.
func (t *Terraform) NeedsRecordedApprovals() bool {
	return t.HeldByPolicy() && t.Status.Plan.Policy.NeedsRecordedApprovals
}

// ApprovedByPeople is true if the people that policies ask for have approved the pending plan.
func (t *Terraform) ApprovedByPeople() bool {
	p := t.Status.Plan
	return p.Pending != "" && p.Digest != "" && p.Policy != nil && p.Policy.Decision == PolicyApproved && p.Policy.Plan == p.Digest
}

// HoldsPlans is true if the pending plan waits for approval although plans may be applied
// without a person: a circuit breaker or a policy holds it, it breaks a contract, or the state is a
// deleted stack's, or it is held for a pull request.
func (t *Terraform) HoldsPlans() bool {
	return t.PullRequestHold() != nil || t.Status.Plan.HeldBy != "" || t.Status.TakenOver != nil || t.HeldByPolicy() || t.BreaksContracts()
}

// HeldByPolicy is true if the pending plan waits for a person because of policies, or because none
// frees it.
func (t *Terraform) HeldByPolicy() bool {
	v := t.Status.Plan.Policy
	return v != nil && (v.Decision == PolicyHeld || v.Decision == PolicyPassed && t.ByPolicy())
}

// ObjectingRules are the rules that hold or refuse the pending plan, as POLICY/RULE, the strictest
// first.
func (t *Terraform) ObjectingRules() []string {
	v := t.Status.Plan.Policy
	if v == nil || t.Status.Plan.Pending == "" {
		return nil
	}
	effects := map[PolicyDecision][]string{PolicyHeld: {"requireApproval", "warn"}, PolicyRefused: {"deny"}}[v.Decision]
	var names []string
	for _, f := range v.Findings {
		name := f.Policy[strings.LastIndexByte(f.Policy, '/')+1:]
		if f.Rule != "" {
			name += "/" + f.Rule
		}
		if slices.Contains(effects, f.Effect) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// RefusedByPolicy is true if policies refuse the pending plan: nobody may apply it.
func (t *Terraform) RefusedByPolicy() bool {
	v := t.Status.Plan.Policy
	return v != nil && v.Decision == PolicyRefused
}

// GetRetryInterval is the wait after a failure, by default 15 seconds.
func (t *Terraform) GetRetryInterval() time.Duration {
	return durationOr(t.Spec.RetryInterval, DefaultRetryInterval)
}

// GetMaxRetryInterval is the longest wait after failures, by default 24 hours.
func (t *Terraform) GetMaxRetryInterval() time.Duration {
	return durationOr(t.Spec.MaxRetryInterval, DefaultMaxRetryInterval)
}

// GetDriftDetectionInterval is driftDetectionInterval, or interval.
func (t *Terraform) GetDriftDetectionInterval() time.Duration {
	return durationOr(t.Spec.DriftDetectionInterval, t.Spec.Interval.Duration)
}

// GetGracePeriod is the tool's time to finish before it is killed, by default 30 seconds.
func (t *Terraform) GetGracePeriod() time.Duration {
	if s := t.Spec.RunnerTerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return DefaultGracePeriod
}

// UpgradesOnInit is true when init may upgrade modules and providers, which is the default.
func (t *Terraform) UpgradesOnInit() bool { return boolOr(t.Spec.UpgradeOnInit, true) }

// RunnerServiceAccount is the service account of the stack's runner Pods.
func (t *Terraform) RunnerServiceAccount() string {
	return cmp.Or(t.Spec.ServiceAccountName, DefaultServiceAccount)
}

// CleansUpRunnerPod is true if a run's Pod is deleted when the run ends, which is the default.
func (t *Terraform) CleansUpRunnerPod() bool { return boolOr(t.Spec.AlwaysCleanupRunnerPod, true) }

// Salt makes the digests in the status differ between stacks, so that equal passwords do not show.
// It stays the same for the stack's whole life, also when "yuba move" moves it.
func (t *Terraform) Salt() types.UID {
	if t.Status.OriginUID != "" {
		return t.Status.OriginUID
	}
	return t.UID
}

// ReconcileRequest is the requested reconciliation; compare with status.lastHandledReconcileAt.
func (t *Terraform) ReconcileRequest() string { return t.Annotations[AnnotationReconcile] }

// The formats of a stored readable plan.
const (
	ReadablePlanHuman = "human"
	ReadablePlanJSON  = "json"
)

// ReadablePlanForm is the format of stored readable plans; empty without them.
func (t *Terraform) ReadablePlanForm() string {
	if f := t.Spec.StoreReadablePlan; f == ReadablePlanHuman || f == ReadablePlanJSON {
		return f
	}
	return ""
}

// ActiveWebhooks are the indices of the webhooks that review plans.
func (t *Terraform) ActiveWebhooks() []int {
	var active []int
	for i, hook := range t.Spec.Webhooks {
		if hook.Stage == WebhookPostPlanning && boolOr(hook.Enabled, true) {
			active = append(active, i)
		}
	}
	return active
}

// SourceNamespace is the namespace of the stack's source, empty without a sourceRef.
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

// InlineProgram returns the files of a program in the object: values.hcl wins over inline, and both
// over sourceRef. The caller may change the map.
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

// ValuesHCL returns the program in values.hcl: values is then an object with the single key hcl and
// a string. All other values are the variable of that name.
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

// GetTimeout is how long the check may take, by default 20 seconds.
func (c HealthCheck) GetTimeout() time.Duration {
	return durationOr(c.Timeout, DefaultHealthCheckTimeout)
}

// IsEnabled is true unless the webhook is switched off.
func (w Webhook) IsEnabled() bool { return boolOr(w.Enabled, true) }

// Locks is true unless plans are made without the state's lock. A nil spec locks.
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

// Entry is the index of a run's entry: its own, or the first one, which includes older runs.
func (u *UnprovenStatus) Entry(run string) int {
	return max(0, slices.IndexFunc(u.Runs, func(r UnprovenRun) bool { return r.ID == run }))
}

// UpTo selects the runs that an acknowledgement covers: the named one and those listed before it.
// Ids only decide for runs without an entry, because clocks can be set back.
func (u *UnprovenStatus) UpTo(named string) func(run string) bool {
	last := slices.IndexFunc(u.Runs, func(r UnprovenRun) bool { return r.ID == named })
	return func(run string) bool {
		if last < 0 {
			return run <= named
		}
		return u.Entry(run) <= last
	}
}

// Called reports whether a name is the resource's address, or the digest of its true address.
func (r *UnprovenResource) Called(name string) bool {
	return name != "" && (name == r.Address || name == r.Match)
}
