// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TerraformSpec says what a stack is to be. Only interval is always required; beside it a stack needs a program:
// sourceRef, inline, or values with the single key hcl.
type TerraformSpec struct {
	// Approval of plans. Empty (the default) is manual: each plan waits. A plan's id, such as "plan-main-1a2b3c4d5e",
	// approves exactly that plan. "auto" approves every plan. "disable" only detects drift and never applies, not even
	// with force. A value that starts with "replan" discards the pending plan when the source has a new revision.
	// +optional
	ApprovePlan string `json:"approvePlan,omitempty"`

	// Plan the destruction of everything that the stack manages. The plan still needs approval; drift is not looked for.
	// Defaults to false.
	// +optional
	Destroy bool `json:"destroy,omitempty"`

	// Where the state is kept. Without it the state is kept for you: in the Secret tfstate-WORKSPACE-NAME of the
	// object's namespace, locked by the Lease lock-tfstate-WORKSPACE-NAME.
	// +optional
	BackendConfig *BackendConfigSpec `json:"backendConfig,omitempty"`

	// Secrets and ConfigMaps whose keys are settings of the backend. They complete backendConfig.customConfiguration or the
	// module's own backend, and are given to "init" in a file that goes when it has ended. Later ones win.
	// +optional
	BackendConfigsFrom []BackendConfigsReference `json:"backendConfigsFrom,omitempty"`

	// Keep the state in (and run with the settings of) a Terraform Cloud compatible service. Takes the place of
	// backendConfig.
	// +optional
	Cloud *CloudSpec `json:"cloud,omitempty"`

	// The workspace: what terraform.workspace evaluates to, and whose state is used. It is created when it is missing.
	// +kubebuilder:default:=default
	// +optional
	Workspace string `json:"workspace,omitempty"`

	// Input variables. They win over values, and lose to varsFrom and tfVarsFiles.
	// +optional
	Vars []Variable `json:"vars,omitempty"`

	// Secrets and ConfigMaps whose keys become input variables. When several have the same key, the last wins; they win
	// over vars.
	// +optional
	VarsFrom []VarsReference `json:"varsFrom,omitempty"`

	// The value of the one input variable named "values", usually an object. Strings in it may be templates that use
	// what readInputsFromSecrets provides, as in "${{ .vpc.id }}". (Yuba) An object whose only key is hcl, with a string,
	// is a program: it means inline with that text as main.tf, and wins over sourceRef.
	// +optional
	Values *apiextensionsv1.JSON `json:"values,omitempty"`

	// Files with variables, as "-var-file" takes them, which win over all others. Later ones win. Paths are relative to the
	// root of the source, not to path.
	// +optional
	TfVarsFiles []string `json:"tfVarsFiles,omitempty"`

	// Secrets that are written as files, with mode 0600, before the tool starts. They are removed when the run is over.
	// +optional
	FileMappings []FileMapping `json:"fileMappings,omitempty"`

	// How often the stack is looked at when nothing has changed, as a duration such as "10m" or "1h30m". A pass looks
	// for drift (see disableDriftDetection and driftDetectionInterval). Changes of the object and of its inputs
	// are acted on at once, whatever the interval.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^(([0-9]{1,6}(\.[0-9]+)?h)|([0-9]{1,7}(\.[0-9]+)?m)|([0-9]{1,9}(\.[0-9]+)?(s|ms|us|µs|ns)))+$|^0$`
	// +required
	Interval metav1.Duration `json:"interval"`

	// How long to wait after a failure before the next attempt. Defaults to "15s".
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^(([0-9]{1,6}(\.[0-9]+)?h)|([0-9]{1,7}(\.[0-9]+)?m)|([0-9]{1,9}(\.[0-9]+)?(s|ms|us|µs|ns)))+$|^0$`
	// +optional
	RetryInterval *metav1.Duration `json:"retryInterval,omitempty"`

	// How the wait grows from failure to failure: StaticInterval always waits for retryInterval; ExponentialBackoff waits
	// for 2^FAILURES * retryInterval, at most maxRetryInterval.
	// +kubebuilder:default:=StaticInterval
	// +optional
	RetryStrategy RetryStrategy `json:"retryStrategy,omitempty"`

	// The longest wait between attempts with ExponentialBackoff, also when it is shorter than retryInterval. Defaults to
	// "24h".
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^(([0-9]{1,6}(\.[0-9]+)?h)|([0-9]{1,7}(\.[0-9]+)?m)|([0-9]{1,9}(\.[0-9]+)?(s|ms|us|µs|ns)))+$|^0$`
	// +optional
	MaxRetryInterval *metav1.Duration `json:"maxRetryInterval,omitempty"`

	// When to give up after failures. Without it, attempts never stop.
	// +optional
	Remediation *Remediation `json:"remediation,omitempty"`

	// The directory of the root module, relative to the root of the source, such as "./infra/network". Defaults to the
	// root of the source.
	// +optional
	Path string `json:"path,omitempty"`

	// The source of the program. A stack whose program is inline does without it.
	// +optional
	SourceRef *CrossNamespaceSourceReference `json:"sourceRef,omitempty"`

	// (Yuba) The program itself: names of files and their content, such as main.tf. The names are relative paths below
	// the stack's working directory. Wins over sourceRef.
	// +kubebuilder:validation:MinProperties=1
	// +optional
	Inline map[string]string `json:"inline,omitempty"`

	// Stop all work on the stack, also its deletion, until this is false again. A run that has started is not
	// interrupted. Defaults to false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Plan and apply on every pass, without approval, whether or not something has changed. Defaults to false.
	// +kubebuilder:default:=false
	// +optional
	Force bool `json:"force,omitempty"`

	// Secrets (such as the outputs of other stacks) whose keys the templates in values can use.
	// +optional
	ReadInputsFromSecrets []ReadInputsFromSecretSpec `json:"readInputsFromSecrets,omitempty"`

	// Write the outputs into a Secret after each apply.
	// +optional
	WriteOutputsToSecret *WriteOutputsToSecretSpec `json:"writeOutputsToSecret,omitempty"`

	// Do not compare the world with the state when nothing else has changed. Defaults to false.
	// +kubebuilder:default:=false
	// +optional
	DisableDriftDetection bool `json:"disableDriftDetection,omitempty"`

	// (Yuba) How often to look for drift, when that should be less (or more) often than interval says, as a duration
	// such as "6h". Defaults to interval.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^(([0-9]{1,6}(\.[0-9]+)?h)|([0-9]{1,7}(\.[0-9]+)?m)|([0-9]{1,9}(\.[0-9]+)?(s|ms|us|µs|ns)))+$|^0$`
	// +optional
	DriftDetectionInterval *metav1.Duration `json:"driftDetectionInterval,omitempty"`

	// The Secret with the tool's own configuration file (credentials of registries, mirrors of providers). It has exactly
	// one key that ends in ".tfrc".
	// +optional
	CliConfigSecretRef *corev1.SecretReference `json:"cliConfigSecretRef,omitempty"`

	// What must answer after an apply before the stack counts as ready.
	// +optional
	HealthChecks []HealthCheck `json:"healthChecks,omitempty"`

	// Destroy everything that the stack manages when the object is deleted, without approval. Defaults to false: the
	// resources and the state stay.
	// +kubebuilder:default:=false
	// +optional
	DestroyResourcesOnDeletion bool `json:"destroyResourcesOnDeletion,omitempty"`

	// The service account that runs have, when they run in Pods.
	// +kubebuilder:default:=tf-runner
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Delete a run's Pod as soon as the run is over, when runs are Pods.
	// +kubebuilder:default:=true
	// +optional
	AlwaysCleanupRunnerPod *bool `json:"alwaysCleanupRunnerPod,omitempty"`

	// How many seconds the tool has to finish what it is doing when its run must stop, before it is killed.
	// +kubebuilder:default:=30
	// +optional
	RunnerTerminationGracePeriodSeconds *int64 `json:"runnerTerminationGracePeriodSeconds,omitempty"`

	// Let "init" upgrade modules and providers to the newest versions that the constraints allow, when the source, the
	// object or a request asks for a fresh run; other passes use the versions that were recorded.
	// +kubebuilder:default:=true
	// +optional
	UpgradeOnInit *bool `json:"upgradeOnInit,omitempty"`

	// Compare the state with the world once more directly before an apply.
	// +kubebuilder:default:=false
	// +optional
	RefreshBeforeApply bool `json:"refreshBeforeApply,omitempty"`

	// What the Pods of runs look like, when runs are Pods.
	// +optional
	RunnerPodTemplate *RunnerPodTemplate `json:"runnerPodTemplate,omitempty"`

	// (Yuba) Environment variables of the tool, such as credentials of providers. A value comes from here, or with
	// valueFrom from a key of a Secret or ConfigMap. Wins over envFrom. The tool sees no other environment.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:XValidation:rule="!has(self.valueFrom) || has(self.valueFrom.secretKeyRef) || has(self.valueFrom.configMapKeyRef)",message="valueFrom needs secretKeyRef or configMapKeyRef; a stack has no Pod whose fields, resources or files could be read"
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`

	// (Yuba) Secrets and ConfigMaps whose keys become environment variables of the tool. When several have the same key,
	// the last wins.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// (Yuba) The program to run and the versions of it that will do. Defaults to the tofu that the server was started
	// with.
	// +optional
	Tool *ToolSpec `json:"tool,omitempty"`

	// List the resources that the stack manages in status.inventory.
	// +optional
	EnableInventory bool `json:"enableInventory,omitempty"`

	// What to do about a locked state.
	// +optional
	TFState *TFStateSpec `json:"tfstate,omitempty"`

	// Restrict plans and applies to these resources or modules, and to what they depend on, such as
	// "module.network" or "terraform_data.a[0]".
	// +optional
	Targets []string `json:"targets,omitempty"`

	// How many operations the tool may do at the same time. 0 means the tool's own default, which is 10.
	// +kubebuilder:default:=0
	// +optional
	Parallelism int32 `json:"parallelism,omitempty"`

	// Also store each plan readably, beside the plan itself: "json" in a Secret, "human" in a ConfigMap, "none" not.
	// +kubebuilder:validation:Enum=none;json;human
	// +kubebuilder:default:=none
	// +optional
	StoreReadablePlan string `json:"storeReadablePlan,omitempty"`

	// How plans are made. Applies are not affected.
	// +optional
	Plan *PlanSpec `json:"plan,omitempty"`

	// Services that are asked about each plan and can refuse it.
	// +optional
	Webhooks []Webhook `json:"webhooks,omitempty"`

	// Stacks that must be ready before this one is planned, and that cannot be deleted before it.
	// +optional
	DependsOn []meta.NamespacedObjectReference `json:"dependsOn,omitempty"`

	// Kept for objects that have it; without effect.
	// +optional
	Enterprise *apiextensionsv1.JSON `json:"enterprise,omitempty"`

	// Plan, and never apply.
	// +optional
	PlanOnly bool `json:"planOnly,omitempty"`

	// Hold the stack while a person works on it by hand: nothing runs, and once it is released a fresh plan comes first.
	// The annotation break-the-glass.tf-controller/requestedAt does the same for as long as it is there.
	// +optional
	BreakTheGlass bool `json:"breakTheGlass,omitempty"`

	// What the branch planner does for the stack.
	// +optional
	BranchPlanner *BranchPlanner `json:"branchPlanner,omitempty"`
}

// RetryStrategy says how the wait grows from failure to failure.
//
// +kubebuilder:validation:Enum=StaticInterval;ExponentialBackoff
type RetryStrategy string

// The strategies of spec.retryStrategy.
const (
	StaticInterval     RetryStrategy = "StaticInterval"
	ExponentialBackoff RetryStrategy = "ExponentialBackoff"
)

// The values of spec.approvePlan that are not plan ids.
const (
	ApprovePlanManual  = ""
	ApprovePlanAuto    = "auto"
	ApprovePlanDisable = "disable"
	// ApprovePlanReplanPrefix starts every value that discards the pending plan on a new revision.
	ApprovePlanReplanPrefix = "replan"
)

// Remediation says when to give up after failures.
type Remediation struct {
	// How many attempts to make in a row, the first one included; 0 makes one, too. When all of them failed, the stack is
	// stalled until the object or its source changes or somebody requests a reconciliation. A negative number never gives
	// up. Defaults to 0.
	// +optional
	Retries int64 `json:"retries,omitempty"`
}

// PlanSpec says how plans are made.
type PlanSpec struct {
	// Whether making a plan takes the lock of a backend of the stack's own. With false, several plans can be made at the
	// same time. Plans of a state that is kept for you take no lock. Defaults to true.
	// +optional
	Lock *bool `json:"lock,omitempty"`
}

// ToolSpec names the program that runs the stack.
type ToolSpec struct {
	// Which program: tofu or terraform.
	// +kubebuilder:validation:Enum=tofu;terraform
	// +kubebuilder:default:=tofu
	// +optional
	Name string `json:"name,omitempty"`

	// The versions that will do, as a constraint such as ">= 1.9, < 2". Empty means any.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Version string `json:"version,omitempty"`
}

// BranchPlanner configures the branch planner for one stack.
type BranchPlanner struct {
	// Only plan for a pull request that changes something below spec.path. Defaults to false.
	// +optional
	EnablePathScope bool `json:"enablePathScope,omitempty"`
}
