// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/fluxcd/pkg/apis/kustomize"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackendType is what an instance becomes.
//
// +kubebuilder:validation:Enum=Helm;Terraform;Tenant;Composition
type BackendType string

// The backends.
const (
	BackendHelm      BackendType = "Helm"
	BackendTerraform BackendType = "Terraform"
	BackendTenant    BackendType = "Tenant"
	// BackendComposition is several objects.
	BackendComposition BackendType = "Composition"
)

// Backend says what instances become. It is a union: the field that type names is set, and no other.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'Helm') == has(self.helm)",message="helm is required with type Helm, and allowed only then"
// +kubebuilder:validation:XValidation:rule="(self.type == 'Terraform') == has(self.terraform)",message="terraform is required with type Terraform, and allowed only then"
// +kubebuilder:validation:XValidation:rule="(self.type == 'Composition') == has(self.composition)",message="composition is required with type Composition, and allowed only then"
// +kubebuilder:validation:XValidation:rule="(self.type == 'Tenant') == has(self.tenant)",message="tenant is required with type Tenant, and allowed only then"
type Backend struct {
	// Helm, Terraform, Tenant or Composition.
	Type BackendType `json:"type"`

	// Each instance becomes a HelmRelease.
	// +optional
	Helm *HelmBackend `json:"helm,omitempty"`

	// Each instance becomes a Terraform object: a stack.
	// +optional
	Terraform *TerraformBackend `json:"terraform,omitempty"`

	// Each instance becomes a namespace below its own one, with a quota, permissions and values.
	// +optional
	Tenant *TenantBackend `json:"tenant,omitempty"`

	// Each instance becomes several objects.
	// +optional
	Composition *CompositionBackend `json:"composition,omitempty"`
}

// TenantBackend makes a namespace of each instance: a tenant as Cozystack has them. Tenants form a tree,
// which begins in the namespace root. The spec of an instance may have the fields host, resourceQuotas,
// schedulingClass, and the modules.
type TenantBackend struct {
	// Begins the names of namespaces. The tenant foo in root has the namespace prefix + foo, and the tenant
	// bar in that namespace the namespace prefix + foo-bar. Defaults to "tenant-".
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9-]*[a-z0-9])?-$`
	// +kubebuilder:validation:MaxLength=50
	// +optional
	Prefix string `json:"prefix,omitempty"`

	// The namespace in which the tree begins. An instance in it whose namespace would be root itself
	// describes the root. Defaults to prefix + root.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Root string `json:"root,omitempty"`

	// Labels of each namespace.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// The fields of the spec, true or false, that say that a tenant has such a module of its own. A
	// tenant without one uses that of its nearest ancestor with one. Defaults to etcd, gateway, ingress,
	// monitoring and seaweedfs.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[a-z]([A-Za-z0-9]{0,61}[A-Za-z0-9])?$`
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	Modules []string `json:"modules,omitempty"`
}

// Begin returns prefix and root with their defaults.
func (t *TenantBackend) Begin() (prefix, root string) {
	prefix, root = t.Prefix, t.Root
	if prefix == "" {
		prefix = "tenant-"
	}
	if root == "" {
		root = prefix + "root"
	}
	return prefix, root
}

// HelmBackend makes a HelmRelease of each instance, with the instance's spec as values.
type HelmBackend struct {
	// Begins the names of releases, such as "bucket-".
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]*$`
	// +kubebuilder:validation:MaxLength=50
	Prefix string `json:"prefix"`

	// Labels of each HelmRelease.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// The chart.
	ChartRef ChartReference `json:"chartRef"`

	// How Helm waits for the objects of a release: poller or legacy.
	// +kubebuilder:validation:Enum=poller;legacy
	// +optional
	WaitStrategy string `json:"waitStrategy,omitempty"`

	// CEL expressions about the health of custom objects, as in a HelmRelease.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	HealthCheckExprs []kustomize.CustomHealthCheck `json:"healthCheckExprs,omitempty"`

	// The service accounts that releases of instances may use. Yuba installs nothing on its own API
	// without one.
	// +optional
	Identity *Identity `json:"identity,omitempty"`

	// More of each HelmRelease: kubeConfig, targetNamespace, driftDetection, dependsOn and others. Texts
	// may contain {{ .name }}, {{ .namespace }} and {{ .kind }} of the instance.
	// +optional
	Template *HelmTemplate `json:"template,omitempty"`
}

// HelmTemplate completes each HelmRelease.
type HelmTemplate struct {
	// Labels and annotations of each HelmRelease.
	// +optional
	Metadata *TemplateMetadata `json:"metadata,omitempty"`

	// A part of the spec of each HelmRelease. Its fields replace those that Yuba sets; valuesFrom is
	// added to them. It cannot contain what the definition's other fields and the instance decide: the
	// chart, values, serviceAccountName, suspend, waitStrategy and healthCheckExprs.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +optional
	Spec *apiextensionsv1.JSON `json:"spec,omitempty"`
}

// ChartReference names the object that has a chart.
type ChartReference struct {
	// The kind of the object.
	// +kubebuilder:validation:Enum=HelmChart;OCIRepository;ExternalArtifact
	Kind string `json:"kind"`
	// The name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// The namespace of the object. Defaults to the instance's.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// TerraformBackend makes a Terraform object of each instance, with the instance's spec as variables.
//
// +kubebuilder:validation:XValidation:rule="(has(self.inline) ? 1 : 0) + (has(self.sourceRef) ? 1 : 0) + (has(self.module) ? 1 : 0) == 1",message="name the program by one of inline, sourceRef and module"
// +kubebuilder:validation:XValidation:rule="!has(self.path) || has(self.sourceRef)",message="path is a directory of sourceRef"
type TerraformBackend struct {
	// Begins the names of Terraform objects, such as "bucket-". Prefix and name together have at most
	// 53 characters.
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]*$`
	// +kubebuilder:validation:MaxLength=50
	// +optional
	Prefix string `json:"prefix,omitempty"`

	// Labels of each Terraform object.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// The program itself: a map of file names, such as main.tf, to file contents.
	// +kubebuilder:validation:MinProperties=1
	// +optional
	Inline map[string]string `json:"inline,omitempty"`

	// The source of the program.
	// +optional
	SourceRef *SourceReference `json:"sourceRef,omitempty"`

	// The directory of the root module in the source. Defaults to its root.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Path string `json:"path,omitempty"`

	// A module of a registry, with the versions that may be used: acme/bucket/aws@~>1.2, or with the
	// registry's host, registry.example.com/acme/bucket/aws@1.2.3.
	// +kubebuilder:validation:Pattern=`^([a-z0-9.-]+(:[0-9]+)?/)?[0-9A-Za-z_-]+/[0-9A-Za-z_-]+/[0-9a-z]+(@[0-9A-Za-z.+, <>=!~-]+)?$`
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Module string `json:"module,omitempty"`

	// How fields of the spec become variables.
	// +optional
	Variables *VariableMapping `json:"variables,omitempty"`

	// How plans are approved: "auto" applies every plan, "manual" waits for a person who approves the
	// plan by its id, "policy" applies the plans that policies free. Defaults to manual.
	// +kubebuilder:default:=manual
	// +optional
	ApprovePlan ApprovePlan `json:"approvePlan,omitempty"`

	// The other values that an instance may choose with the annotation
	// apps.cozystack.io/approve-plan. It may always choose manual.
	// +kubebuilder:validation:MaxItems=3
	// +listType=set
	// +optional
	ApprovePlanChoices []ApprovePlan `json:"approvePlanChoices,omitempty"`

	// The outputs that users see: those that are not sensitive in status.outputs, and all of them in the
	// Secret that status.outputsSecretRef names. The default is none.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z_][A-Za-z0-9_-]*$`
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=set
	// +optional
	Outputs []string `json:"outputs,omitempty"`

	// The outputs of module that are sensitive; others must not be. Only for module: a program says so
	// itself.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=set
	// +optional
	SensitiveOutputs []string `json:"sensitiveOutputs,omitempty"`

	// The service accounts that runs of instances may use.
	// +optional
	Identity *Identity `json:"identity,omitempty"`

	// More of each Terraform object: backend, tool, dependencies, contracts and others. Texts may contain
	// {{ .name }}, {{ .namespace }} and {{ .kind }} of the instance.
	// +optional
	Template *TerraformTemplate `json:"template,omitempty"`
}

// ApprovePlan is how plans are approved.
//
// +kubebuilder:validation:Enum=auto;manual;policy
type ApprovePlan string

// The values of ApprovePlan.
const (
	ApproveAuto   ApprovePlan = "auto"
	ApproveManual ApprovePlan = "manual"
	ApprovePolicy ApprovePlan = "policy"
)

// SourceReference names the object that provides the program.
type SourceReference struct {
	// The API version, such as source.toolkit.fluxcd.io/v1. Defaults to the kind's current one.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// The kind of the source.
	// +kubebuilder:validation:Enum=GitRepository;Bucket;OCIRepository;ExternalArtifact
	Kind string `json:"kind"`
	// The name of the source.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// The namespace of the source. Defaults to the instance's. The server must allow any other.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// VariableMapping says how fields of the spec become variables.
type VariableMapping struct {
	// The names of variables: camelToSnake makes bucket_name of bucketName, asIs leaves names as they
	// are. Defaults to camelToSnake, and with nesting values to asIs.
	// +kubebuilder:validation:Enum=camelToSnake;asIs
	// +optional
	Naming string `json:"naming,omitempty"`

	// What becomes of objects in the spec: "object" makes one variable with an object, "flatten" one
	// variable for each leaf, with the names joined by "_", "values" passes the whole spec in the one
	// variable values. Defaults to object.
	// +kubebuilder:validation:Enum=object;flatten;values
	// +optional
	Nesting string `json:"nesting,omitempty"`

	// The names of variables that differ from the rule, by the paths of fields, such as
	// db.instanceClass.
	// +kubebuilder:validation:MaxProperties=256
	// +optional
	Overrides map[string]string `json:"overrides,omitempty"`
}

// Identity is the set of service accounts that instances may choose from. They are accounts of the
// instance's own namespace, so that one instance never acts as another namespace.
type Identity struct {
	// The service account of instances that choose none. Stacks without one use tf-runner, releases
	// the server's --default-service-account.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Default string `json:"default,omitempty"`

	// The service accounts that an instance may choose with the annotation apps.cozystack.io/identity.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	Allowed []string `json:"allowed,omitempty"`
}

// TerraformTemplate completes each Terraform object.
type TerraformTemplate struct {
	// Labels and annotations of each Terraform object.
	// +optional
	Metadata *TemplateMetadata `json:"metadata,omitempty"`

	// A part of the spec of each Terraform object. It cannot contain what the instance decides: the
	// program, approvePlan, destroy, suspend, values and the outputs Secret.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +optional
	Spec *apiextensionsv1.JSON `json:"spec,omitempty"`
}

// TemplateMetadata is added to the metadata of each object.
type TemplateMetadata struct {
	// Labels to add.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations to add.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// InstanceStatus is the status of every application kind.
// +kubebuilder:object:generate=true
type InstanceStatus struct {
	// The generation of the object that the status describes.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// The conditions: Ready; Reconciling and Stalled only while True.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// The status in one word.
	Phase string `json:"phase,omitempty"`
	// Outputs that are not sensitive.
	Outputs map[string]apiextensionsv1.JSON `json:"outputs,omitempty"`
	// The Secret with all outputs.
	OutputsSecretRef *SecretReference `json:"outputsSecretRef,omitempty"`
	// The digest of the outputs that the status shows.
	OutputsDigest string `json:"outputsDigest,omitempty"`
	// The pending plan; the last one if none is pending.
	Plan *InstancePlan `json:"plan,omitempty"`
	// The revisions of the program.
	Revision *InstanceRevision `json:"revision,omitempty"`
	// The version of the chart, with Helm.
	Version string `json:"version,omitempty"`
	// The namespace of a tenant.
	Namespace string `json:"namespace,omitempty"`
	// The object that the instance became.
	BackendRef *BackendReference `json:"backendRef,omitempty"`
	// The objects of a composed instance.
	Resources []InstanceResource `json:"resources,omitempty"`
	// The revision of the definition that the instance follows.
	Definition *InstanceDefinition `json:"definition,omitempty"`
}

// InstanceDefinition is the revision of the definition that an instance follows.
type InstanceDefinition struct {
	// The revision from which the object behind the instance was last written.
	Revision int64 `json:"revision,omitempty"`
	// The newer revision that the instance will get when it has its turn in the rollout.
	Waiting int64 `json:"waiting,omitempty"`
}

// InstancePlan is a plan in the status of an instance.
type InstancePlan struct {
	// The plan's id; empty if no plan is pending.
	ID string `json:"id,omitempty"`
	// The changes in words.
	Summary string `json:"summary,omitempty"`
	// How many resources the plan adds, changes and destroys.
	Add     int32 `json:"add"`
	Change  int32 `json:"change"`
	Destroy int32 `json:"destroy"`
}

// InstanceRevision has the revisions of the program.
type InstanceRevision struct {
	// The revision that was last planned.
	Planned string `json:"planned,omitempty"`
	// The revision that was last applied.
	Applied string `json:"applied,omitempty"`
}

// SecretReference names a Secret of the instance's namespace.
type SecretReference struct {
	Name string `json:"name"`
}

// BackendReference names an object of the instance's namespace, or a namespace.
type BackendReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}
