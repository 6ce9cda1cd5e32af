// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TerraformSpec is the desired state of a stack. It requires an interval and a program: sourceRef,
// inline, or values with the single key hcl.
type TerraformSpec struct {
	// How plans are approved. Empty (the default): every plan waits for approval. A plan id, such
	// as "plan-main-1a2b3c4d5e", approves exactly that plan. "auto" approves every plan. "disable"
	// only detects drift and never applies, even with force. A value that starts with "replan"
	// discards the pending plan when the source has a new revision. "policy" (Yuba) applies the plans
	// that a Policy or ClusterPolicy frees, and all others wait for approval.
	// +optional
	ApprovePlan string `json:"approvePlan,omitempty"`

	// Plan the destruction of everything that the stack manages. The plan still needs approval.
	// Disables drift detection. Defaults to false.
	// +optional
	Destroy bool `json:"destroy,omitempty"`

	// Where to keep the state. Without it, Yuba keeps the state in the Secret
	// tfstate-WORKSPACE-NAME of the object's namespace, locked by the Lease
	// lock-tfstate-WORKSPACE-NAME.
	// +optional
	BackendConfig *BackendConfigSpec `json:"backendConfig,omitempty"`

	// Secrets and ConfigMaps whose keys are backend settings. They complete
	// backendConfig.customConfiguration or the module's own backend. Yuba passes them to "init" in
	// a temporary file. Later entries win.
	// +optional
	BackendConfigsFrom []BackendConfigsReference `json:"backendConfigsFrom,omitempty"`

	// Use a Terraform Cloud compatible service for state and settings. Replaces backendConfig.
	// +optional
	Cloud *CloudSpec `json:"cloud,omitempty"`

	// The workspace: the value of terraform.workspace, and the state to use. Created if it does not
	// exist.
	// +kubebuilder:default:=default
	// +optional
	Workspace string `json:"workspace,omitempty"`

	// Input variables. They override values; varsFrom and tfVarsFiles override them.
	// +optional
	Vars []Variable `json:"vars,omitempty"`

	// Secrets and ConfigMaps whose keys become input variables. They override vars. If several have
	// the same key, the last one wins.
	// +optional
	VarsFrom []VarsReference `json:"varsFrom,omitempty"`

	// The value of the input variable named "values", usually an object. Strings in it can be
	// templates that use readInputsFromSecrets, as in "${{ .vpc.id }}". (Yuba) An object whose only
	// key is hcl, with a string value, is a program: equivalent to inline with that text as
	// main.tf. It overrides sourceRef.
	// +optional
	Values *apiextensionsv1.JSON `json:"values,omitempty"`

	// Variable files, as for "-var-file". They override all other variables; later files win. Paths
	// are relative to the root of the source, not to path.
	// +optional
	TfVarsFiles []string `json:"tfVarsFiles,omitempty"`

	// Secrets to write as files, with mode 0600, before the tool starts. Yuba removes them after
	// the run.
	// +optional
	FileMappings []FileMapping `json:"fileMappings,omitempty"`

	// How often to reconcile the stack when nothing changed, as a duration such as "10m" or
	// "1h30m". Each time, Yuba checks for drift (see disableDriftDetection and
	// driftDetectionInterval). Yuba acts on changes of the object and its inputs at once,
	// regardless of the interval.
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

	// How to compute the wait after repeated failures. StaticInterval: always retryInterval.
	// ExponentialBackoff: 2^FAILURES * retryInterval, at most maxRetryInterval.
	// +kubebuilder:default:=StaticInterval
	// +optional
	RetryStrategy RetryStrategy `json:"retryStrategy,omitempty"`

	// The longest wait between attempts with ExponentialBackoff, even if it is shorter than
	// retryInterval. Defaults to "24h".
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^(([0-9]{1,6}(\.[0-9]+)?h)|([0-9]{1,7}(\.[0-9]+)?m)|([0-9]{1,9}(\.[0-9]+)?(s|ms|us|µs|ns)))+$|^0$`
	// +optional
	MaxRetryInterval *metav1.Duration `json:"maxRetryInterval,omitempty"`

	// When to stop retrying after failures. Without it, Yuba retries indefinitely.
	// +optional
	Remediation *Remediation `json:"remediation,omitempty"`

	// The directory of the root module, relative to the root of the source, such as
	// "./infra/network". Defaults to the root of the source.
	// +optional
	Path string `json:"path,omitempty"`

	// The source of the program. Not needed with inline or values.hcl.
	// +optional
	SourceRef *CrossNamespaceSourceReference `json:"sourceRef,omitempty"`

	// (Yuba) The program itself: a map of file names, such as main.tf, to file contents. File names
	// are paths relative to the stack's working directory. Overrides sourceRef.
	// +kubebuilder:validation:MinProperties=1
	// +optional
	Inline map[string]string `json:"inline,omitempty"`

	// Suspend the stack: start no runs, and do not delete it, until this is false again. Cancels a
	// plan that is being made; an apply that has started finishes. Defaults to false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Plan on every interval and when the object changes, even if no input changed, and apply
	// without approval. Defaults to false.
	// +kubebuilder:default:=false
	// +optional
	Force bool `json:"force,omitempty"`

	// Secrets, such as the outputs of other stacks, whose keys templates in values can use.
	// +optional
	ReadInputsFromSecrets []ReadInputsFromSecretSpec `json:"readInputsFromSecrets,omitempty"`

	// Write the outputs to a Secret after each apply.
	// +optional
	WriteOutputsToSecret *WriteOutputsToSecretSpec `json:"writeOutputsToSecret,omitempty"`

	// (Yuba) The outputs that the stack publishes as contracts. Yuba checks each plan against the
	// contracts, and keeps a revision of the value after each apply that changes it.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=contract
	// +listMapKey=version
	// +optional
	Publishes []Publication `json:"publishes,omitempty"`

	// (Yuba) The contracts of other stacks that become input variables. The stack waits until they
	// are published, and runs when the part that it reads has changed.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=as
	// +optional
	Consumes []Consumption `json:"consumes,omitempty"`

	// (Yuba) The other namespaces whose ContractBridges may write the outputs of this stack to their
	// Secrets and ConfigMaps. Any of the grants suffices.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	OutputGrants []OutputGrant `json:"outputGrants,omitempty"`

	// Disable drift detection: do not plan when nothing else changed. Defaults to false.
	// +kubebuilder:default:=false
	// +optional
	DisableDriftDetection bool `json:"disableDriftDetection,omitempty"`

	// (Yuba) How often to check for drift, if different from interval, as a duration such as "6h".
	// Defaults to interval.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^(([0-9]{1,6}(\.[0-9]+)?h)|([0-9]{1,7}(\.[0-9]+)?m)|([0-9]{1,9}(\.[0-9]+)?(s|ms|us|µs|ns)))+$|^0$`
	// +optional
	DriftDetectionInterval *metav1.Duration `json:"driftDetectionInterval,omitempty"`

	// The Secret with the tool's CLI configuration file (registry credentials, provider mirrors).
	// It must have exactly one key that ends in ".tfrc".
	// +optional
	CliConfigSecretRef *corev1.SecretReference `json:"cliConfigSecretRef,omitempty"`

	// Endpoints that must respond after an apply before the stack is ready.
	// +optional
	HealthChecks []HealthCheck `json:"healthChecks,omitempty"`

	// Destroy everything that the stack manages when the object is deleted, without approval.
	// Defaults to false, which keeps the resources and the state.
	// +kubebuilder:default:=false
	// +optional
	DestroyResourcesOnDeletion bool `json:"destroyResourcesOnDeletion,omitempty"`

	// The service account of runs that are Pods.
	// +kubebuilder:default:=tf-runner
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Delete the Pod of a run as soon as the run ends, if runs are Pods.
	// +kubebuilder:default:=true
	// +optional
	AlwaysCleanupRunnerPod *bool `json:"alwaysCleanupRunnerPod,omitempty"`

	// (Yuba) Execute each run in a Pod of its own, if runs are Pods. Otherwise a Pod executes the
	// runs of stacks with the same namespace, service account and runnerPodTemplate, one after the
	// other. Defaults to false.
	// +optional
	DedicatedRunnerPod bool `json:"dedicatedRunnerPod,omitempty"`

	// How many seconds the tool has to finish its current operation when Yuba stops its run, before
	// Yuba kills it.
	// +kubebuilder:default:=30
	// +optional
	RunnerTerminationGracePeriodSeconds *int64 `json:"runnerTerminationGracePeriodSeconds,omitempty"`

	// Let "init" upgrade modules and providers to the newest versions that the constraints allow,
	// when the source or the object changed or somebody requested a run. Other runs use the
	// recorded versions.
	// +kubebuilder:default:=true
	// +optional
	UpgradeOnInit *bool `json:"upgradeOnInit,omitempty"`

	// Refresh the state once more directly before an apply.
	// +kubebuilder:default:=false
	// +optional
	RefreshBeforeApply bool `json:"refreshBeforeApply,omitempty"`

	// Settings of the Pods of runs, if runs are Pods.
	// +optional
	RunnerPodTemplate *RunnerPodTemplate `json:"runnerPodTemplate,omitempty"`

	// (Yuba) Environment variables of the tool, such as provider credentials. A value is given
	// here, or with valueFrom in a key of a Secret or ConfigMap. Overrides envFrom. The tool gets
	// no other environment.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:XValidation:rule="!has(self.valueFrom) || has(self.valueFrom.secretKeyRef) || has(self.valueFrom.configMapKeyRef)",message="valueFrom needs secretKeyRef or configMapKeyRef; a stack has no Pod whose fields, resources or files could be read"
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`

	// (Yuba) Secrets and ConfigMaps whose keys become environment variables of the tool. If several
	// have the same key, the last one wins.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// (Yuba) Short-lived tokens of serviceAccountName, by which runs log in to clouds and other
	// services without stored credentials.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=audience
	// +optional
	IdentityTokens []IdentityToken `json:"identityTokens,omitempty"`

	// (Yuba) The program to run and its accepted versions. Defaults to the tofu that the server was
	// started with.
	// +optional
	Tool *ToolSpec `json:"tool,omitempty"`

	// List the resources that the stack manages in status.inventory.
	// +optional
	EnableInventory bool `json:"enableInventory,omitempty"`

	// How to handle a locked state.
	// +optional
	TFState *TFStateSpec `json:"tfstate,omitempty"`

	// Restrict plans and applies to these resources or modules and their dependencies, such as
	// "module.network" or "terraform_data.a[0]".
	// +optional
	Targets []string `json:"targets,omitempty"`

	// How many operations the tool may perform concurrently. 0 means the tool's default, which is
	// 10.
	// +kubebuilder:default:=0
	// +optional
	Parallelism int32 `json:"parallelism,omitempty"`

	// Also store each plan in readable form: "json" in a Secret, "human" in a ConfigMap, "none" not
	// at all.
	// +kubebuilder:validation:Enum=none;json;human
	// +kubebuilder:default:=none
	// +optional
	StoreReadablePlan string `json:"storeReadablePlan,omitempty"`

	// How to make plans. Does not affect applies.
	// +optional
	Plan *PlanSpec `json:"plan,omitempty"`

	// Services that review each plan and can refuse it.
	// +optional
	Webhooks []Webhook `json:"webhooks,omitempty"`

	// Stacks that must be ready before this one is planned, and that cannot be deleted before it.
	// +optional
	DependsOn []meta.NamespacedObjectReference `json:"dependsOn,omitempty"`

	// Has no effect. Kept for compatibility.
	// +optional
	Enterprise *apiextensionsv1.JSON `json:"enterprise,omitempty"`

	// Plan, but never apply.
	// +optional
	PlanOnly bool `json:"planOnly,omitempty"`

	// Stop runs while somebody works on the stack manually. Afterwards, Yuba makes a fresh plan
	// first. The annotation break-the-glass.tf-controller/requestedAt has the same effect while it
	// is set.
	// +optional
	BreakTheGlass bool `json:"breakTheGlass,omitempty"`

	// Settings of the branch planner for this stack.
	// +optional
	BranchPlanner *BranchPlanner `json:"branchPlanner,omitempty"`
}

// RetryStrategy says how to compute the wait after repeated failures.
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
	// ApprovePlanPolicy applies the plans that policies free from review.
	ApprovePlanPolicy = "policy"
	// ApprovePlanReplanPrefix starts every value that discards the pending plan on a new revision.
	ApprovePlanReplanPrefix = "replan"
)

// Remediation says when to stop retrying after failures.
type Remediation struct {
	// How many attempts to make in a row, including the first; 0 also means one. When all have
	// failed, the stack is stalled until the object or its source changes or somebody requests a
	// reconciliation. A negative number means no limit. Defaults to 0.
	// +optional
	Retries int64 `json:"retries,omitempty"`
}

// PlanSpec says how to make plans.
type PlanSpec struct {
	// Whether planning locks the state of a custom backend. With false, several plans can be made
	// at the same time. Plans of a state that Yuba keeps take no lock. Defaults to true.
	// +optional
	Lock *bool `json:"lock,omitempty"`
}

// ToolSpec names the program that runs the stack.
type ToolSpec struct {
	// The program: tofu or terraform.
	// +kubebuilder:validation:Enum=tofu;terraform
	// +kubebuilder:default:=tofu
	// +optional
	Name string `json:"name,omitempty"`

	// The accepted versions, as a constraint such as ">= 1.9, < 2". Empty means any.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Version string `json:"version,omitempty"`
}

// BranchPlanner configures the branch planner for one stack.
type BranchPlanner struct {
	// Plan only for pull requests that change something below spec.path. Defaults to false.
	// +optional
	EnablePathScope bool `json:"enablePathScope,omitempty"`
}
