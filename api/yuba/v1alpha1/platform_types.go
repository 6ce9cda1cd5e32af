// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/fluxcd/pkg/apis/meta"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PlatformKind is the name of the kind.
const PlatformKind = "Platform"

// PlatformFinalizer is on platforms with stacks: a deletion leaves the stacks, without the labels below.
const PlatformFinalizer = "yuba.dev/platform"

// Labels of the stacks of a platform. The first one names the platform of the same namespace.
const (
	LabelPlatform          = "yuba.dev/platform"
	LabelPlatformRegion    = "yuba.dev/platform-region"
	LabelPlatformPhase     = "yuba.dev/platform-phase"
	LabelPlatformComponent = "yuba.dev/platform-component"
)

// Platform is a blueprint: the regions, machines, clusters and components of one installation, under one
// DNS name. Yuba makes a stack of each phase in each region, in order, and keeps them as the blueprint says.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Domain",type="string",JSONPath=".spec.domain.fqdn",description="The DNS name."
// +kubebuilder:printcolumn:name="Phases",type="string",JSONPath=".status.progress",description="How many phases are ready."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since it was created."
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether all phases are ready."
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="The message of the condition Ready."
type Platform struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The blueprint: everything that Yuba needs to make the platform.
	Spec PlatformSpec `json:"spec"`

	// The observed state. The server writes it.
	// +optional
	Status PlatformStatus `json:"status,omitempty,omitzero"`
}

// PlatformApproval says who approves plans.
// +kubebuilder:validation:Enum=Manual;Auto;Policy
type PlatformApproval string

const (
	// ApprovalManual waits for a person for each plan.
	ApprovalManual PlatformApproval = "Manual"
	// ApprovalAuto applies each plan.
	ApprovalAuto PlatformApproval = "Auto"
	// ApprovalPolicy applies the plans that a Policy or ClusterPolicy frees.
	ApprovalPolicy PlatformApproval = "Policy"
)

// PlatformRemoval says what happens to the resources of stacks that the blueprint does not want any more.
// +kubebuilder:validation:Enum=Destroy;Keep
type PlatformRemoval string

const (
	// RemovalDestroy destroys the resources, in the reverse order.
	RemovalDestroy PlatformRemoval = "Destroy"
	// RemovalKeep deletes the stacks and keeps the resources and their states.
	RemovalKeep PlatformRemoval = "Keep"
)

// PlatformSpec is a blueprint.
type PlatformSpec struct {
	// Who the platform is for.
	Organization PlatformOrganization `json:"organization"`

	// The DNS name of the platform, and who keeps its records.
	Domain PlatformDomain `json:"domain"`

	// Where the modules of phases without a module of their own come from.
	// +optional
	Library *PlatformLibrary `json:"library,omitempty"`

	// The regions. Each has its own network, machines and cluster. The first one is the primary region.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Regions []PlatformRegion `json:"regions"`

	// What is installed in the clusters, after all other phases.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Components []PlatformComponent `json:"components,omitempty"`

	// Changes to the phases: other modules, more variables, other approvals. Phases that are not listed
	// have the module of the library.
	// +kubebuilder:validation:MaxItems=6
	// +listType=map
	// +listMapKey=name
	// +optional
	Phases []PlatformPhase `json:"phases,omitempty"`

	// Who approves plans, unless the phase says otherwise. Manual (the default): a person, for each plan.
	// Auto: nobody. Policy: a Policy or ClusterPolicy, else a person.
	// +kubebuilder:default:=Manual
	// +optional
	Approval PlatformApproval `json:"approval,omitempty"`

	// What happens when a region or a component is removed from the blueprint. Destroy (the default):
	// its resources are destroyed in the reverse order, without another approval. Keep: Yuba deletes the
	// stacks, and keeps the resources and the states.
	// +kubebuilder:default:=Destroy
	// +optional
	Removal PlatformRemoval `json:"removal,omitempty"`

	// Whether the platform is made, and works, without connections to the internet. Modules and sources
	// must be local then.
	// +optional
	AirGap bool `json:"airGap,omitempty"`

	// Destroy the whole platform, in the reverse order. The object stays and lists what could not be
	// removed. False again makes the platform anew.
	// +optional
	Decommission bool `json:"decommission,omitempty"`

	// Stop all work on the platform and its stacks. An apply that has started finishes.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// How often the stacks are compared with the world (drift detection).
	// +kubebuilder:default:="1h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	Interval metav1.Duration `json:"interval,omitempty"`

	// How long a stack waits after a failure before its next attempt.
	// +kubebuilder:default:="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	RetryInterval metav1.Duration `json:"retryInterval,omitempty"`
}

// PlatformOrganization is who the platform is for.
type PlatformOrganization struct {
	// The short name of the organization, for names and labels of resources, such as acme.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Name string `json:"name"`

	// The full name of the organization, such as Acme Ltd.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	DisplayName string `json:"displayName,omitempty"`

	// The mail address for certificates and notices of providers.
	// +kubebuilder:validation:MaxLength=254
	// +kubebuilder:validation:Pattern=`^[^@\s]+@[^@\s]+$`
	// +optional
	Email string `json:"email,omitempty"`
}

// PlatformDomainMode says who keeps the records of a domain.
// +kubebuilder:validation:Enum=Manual;API
type PlatformDomainMode string

const (
	// DomainManual leaves the records to people.
	DomainManual PlatformDomainMode = "Manual"
	// DomainAPI has a module keep the records, in the phase dns.
	DomainAPI PlatformDomainMode = "API"
)

// PlatformDomain is the DNS name of a platform.
//
// +kubebuilder:validation:XValidation:rule="self.mode != 'API' || has(self.provider)",message="mode API needs a provider, such as hetzner: it chooses the module of the phase dns"
// +kubebuilder:validation:XValidation:rule="self.mode != 'API' || !has(self.manual)",message="manual is for mode Manual"
type PlatformDomain struct {
	// The DNS name of the platform, such as acme.example.org. It is the platform's identity: it cannot
	// change, and no two platforms have the same one.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the DNS name is the platform's identity and cannot change: create another Platform"
	FQDN string `json:"fqdn"`

	// Who creates the DNS records. Manual (the default): you do; status.records lists them. API: the module of the
	// phase dns, with the provider's API.
	// +kubebuilder:default:=Manual
	// +optional
	Mode PlatformDomainMode `json:"mode,omitempty"`

	// With mode API: the DNS provider, as its modules in the library are named.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	// +optional
	Provider string `json:"provider,omitempty"`

	// With mode API: the Secret whose keys are environment variables with the credentials of the DNS
	// provider.
	// +optional
	CredentialsRef *meta.LocalObjectReference `json:"credentialsRef,omitempty"`

	// With mode Manual: how the records that people create are checked.
	// +optional
	Manual *PlatformManualDNS `json:"manual,omitempty"`
}

// PlatformManualDNS says how records that people create are checked.
type PlatformManualDNS struct {
	// The resolver that is asked for the records, as HOST:PORT. Defaults to that of Yuba's machine.
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:Pattern=`^[^\s/@]+:[0-9]+$`
	// +optional
	Resolver string `json:"resolver,omitempty"`

	// Whether each region has a phase dns, which waits until the resolver has the records. Later phases are made
	// after it. By default, nothing waits: status.records says which records are missing.
	// +optional
	Wait bool `json:"wait,omitempty"`
}

// PlatformLibrary is a collection of modules with the standard interface: each phase has an output object of
// its own name, which later phases read as a variable of that name.
type PlatformLibrary struct {
	// The source of the modules, in the platform's namespace.
	SourceRef PlatformSourceReference `json:"sourceRef"`

	// The directory of the library in the source. Below it are PROVIDER/PHASE for preflight, network, machines
	// and dns, and PHASE or COMPONENT for all others. Defaults to the source's root.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !('/' + self + '/').contains('/../')",message="the path is relative to the source's root and stays inside it"
	// +optional
	Path string `json:"path,omitempty"`

	// Whether the library has a module for the phase preflight of each provider. Such a module has data
	// sources and checks only: it proves that the credentials work before anything is made.
	// +optional
	Preflight bool `json:"preflight,omitempty"`
}

// PlatformSourceReference names a source.
type PlatformSourceReference struct {
	// The kind of the source. "yuba bootstrap --modules DIR" makes an ExternalArtifact.
	// +kubebuilder:validation:Enum=GitRepository;OCIRepository;Bucket;ExternalArtifact
	Kind string `json:"kind"`
	// The name of the source.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// PlatformRegion is a place with a network, machines and a cluster.
type PlatformRegion struct {
	// The name of the region in names of stacks and machines, such as eu-1.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Name string `json:"name"`

	// The provider of network and machines, as its modules in the library are named: hetzner, aws, local …
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Provider string `json:"provider"`

	// The provider's name for the place, such as fsn1 or eu-central-1.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Location string `json:"location,omitempty"`

	// How many machines have the control plane of the cluster. 3 or more survive the loss of a machine.
	// +kubebuilder:default:=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	// +kubebuilder:validation:XValidation:rule="self % 2 == 1",message="control planes need an odd number of machines: the next smaller one survives as many losses"
	// +optional
	ControlPlanes int32 `json:"controlPlanes,omitempty"`

	// How many more machines the cluster has.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Workers int32 `json:"workers,omitempty"`

	// The provider's name for the size of machines with the control plane, such as cx32.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Size string `json:"size,omitempty"`

	// The size of the other machines. Defaults to size.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	WorkerSize string `json:"workerSize,omitempty"`

	// The Secret whose keys are environment variables with the credentials of the provider, such as
	// HCLOUD_TOKEN.
	// +optional
	CredentialsRef *meta.LocalObjectReference `json:"credentialsRef,omitempty"`

	// More input variables for the modules of the region. They override the platform's.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Variables map[string]apiextensionsv1.JSON `json:"variables,omitempty"`
}

// PlatformPhaseName is a phase.
type PlatformPhaseName string

// The phases of each region, in their order. Components follow.
const (
	PhasePreflight  PlatformPhaseName = "preflight"
	PhaseNetwork    PlatformPhaseName = "network"
	PhaseMachines   PlatformPhaseName = "machines"
	PhaseKubernetes PlatformPhaseName = "kubernetes"
	PhaseDNS        PlatformPhaseName = "dns"
	PhaseGitOps     PlatformPhaseName = "gitops"
	// PhaseComponents is the phase of all components. It cannot be changed as a whole.
	PhaseComponents PlatformPhaseName = "components"
)

// PlatformPhase changes a phase.
type PlatformPhase struct {
	// The phase.
	// +kubebuilder:validation:Enum=preflight;network;machines;kubernetes;dns;gitops
	Name PlatformPhaseName `json:"name"`

	// Leave the phase out, such as gitops, or machines of a provider with managed clusters.
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// The module of the phase in all regions. Defaults to that of the library.
	// +optional
	Module *PlatformModule `json:"module,omitempty"`

	// Who approves the plans of the phase. Defaults to spec.approval.
	// +optional
	Approval PlatformApproval `json:"approval,omitempty"`

	// More input variables for the module of the phase. They override those of the region.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Variables map[string]apiextensionsv1.JSON `json:"variables,omitempty"`

	// Secrets whose keys become input variables of the module.
	// +kubebuilder:validation:MaxItems=16
	// +optional
	VariablesFrom []meta.LocalObjectReference `json:"variablesFrom,omitempty"`
}

// PlatformComponent is something that is installed in the clusters.
type PlatformComponent struct {
	// The name of the component, such as vault.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Name string `json:"name"`

	// The regions that have it. Defaults to all.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=20
	// +optional
	Regions []string `json:"regions,omitempty"`

	// The components that must be ready in the same region before this one is installed.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=24
	// +optional
	DependsOn []string `json:"dependsOn,omitempty"`

	// The module of the component. Defaults to the directory NAME of the library.
	// +optional
	Module *PlatformModule `json:"module,omitempty"`

	// Who approves its plans. Defaults to spec.approval.
	// +optional
	Approval PlatformApproval `json:"approval,omitempty"`

	// Input variables of the module.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Variables map[string]apiextensionsv1.JSON `json:"variables,omitempty"`

	// Secrets whose keys become input variables of the module.
	// +kubebuilder:validation:MaxItems=16
	// +optional
	VariablesFrom []meta.LocalObjectReference `json:"variablesFrom,omitempty"`
}

// PlatformModule is a root module.
//
// +kubebuilder:validation:XValidation:rule="(has(self.path) ? 1 : 0) + (has(self.inline) ? 1 : 0) + (has(self.registry) ? 1 : 0) == 1",message="a module has either path, inline or registry"
// +kubebuilder:validation:XValidation:rule="!has(self.sourceRef) || has(self.path)",message="sourceRef is for a module with path"
type PlatformModule struct {
	// The directory of the module in the source.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !('/' + self + '/').contains('/../')",message="the path is relative to the source's root and stays inside it"
	// +optional
	Path string `json:"path,omitempty"`

	// The source of path. Defaults to that of the library.
	// +optional
	SourceRef *PlatformSourceReference `json:"sourceRef,omitempty"`

	// The module itself: file names and their contents.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Inline map[string]string `json:"inline,omitempty"`

	// A module of a registry.
	// +optional
	Registry *PlatformRegistryModule `json:"registry,omitempty"`

	// The outputs of earlier phases that the module reads as input variables, as OUTPUT or OUTPUT:VARIABLE.
	// Defaults to those of the standard interface of its phase.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^(preflight|network|machines|kubernetes|dns|gitops)/[A-Za-z_][A-Za-z0-9_-]*(:[A-Za-z_][A-Za-z0-9_-]*)?$`
	// +optional
	Reads []string `json:"reads,omitempty"`
}

// PlatformRegistryModule is a module of a registry. It gets the variables and has the outputs that are listed.
type PlatformRegistryModule struct {
	// The module, as [HOST/]NAMESPACE/NAME/SYSTEM.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^([a-z0-9.-]+(:[0-9]+)?/)?[0-9A-Za-z_-]+/[0-9A-Za-z_-]+/[0-9a-z]+$`
	Source string `json:"source"`

	// The version, or a constraint such as ~> 1.2.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version"`

	// The input variables that it declares.
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z_][A-Za-z0-9_-]*$`
	// +optional
	Inputs []string `json:"inputs,omitempty"`

	// The outputs that it declares.
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z_][A-Za-z0-9_-]*$`
	// +optional
	Outputs []string `json:"outputs,omitempty"`
}

// PlatformList is a list of platforms.
//
// +kubebuilder:object:root=true
type PlatformList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Platform `json:"items"`
}
