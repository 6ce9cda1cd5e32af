// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ContractKind is the name of the kind.
const ContractKind = "Contract"

// Contract is a versioned type for a value that some stacks publish and others consume. A version never
// changes its type: to change it, declare the next version here. Versions that were declared before
// remain, and can be published side by side.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".spec.version",description="The version that is declared."
// +kubebuilder:printcolumn:name="Published",type="integer",JSONPath=".status.published",description="How many revisions were published."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since it was created."
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether stacks can publish and consume the version."
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="The message of the condition Ready."
type Contract struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The version and its type.
	Spec ContractSpec `json:"spec"`

	// The observed state: known versions and published revisions. The server writes it.
	// +optional
	Status ContractStatus `json:"status,omitempty,omitzero"`
}

// ContractSpec is the desired state of a contract.
type ContractSpec struct {
	// The version of the contract, three numbers such as 1.2.0. Optional attributes may be added with
	// the next second number; to remove, retype or require an attribute takes the next first number.
	// Before 1.0.0 the second number may break.
	// +kubebuilder:validation:Pattern=`^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})(-[0-9A-Za-z.-]{1,64})?$`
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version"`

	// The type of the value in OpenTofu's syntax, as a variable declares it:
	// object({ vpc_id = string, subnets = list(string), note = optional(string) }).
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=65536
	Type string `json:"type"`

	// The paths of private parts, such as database.password or users[*].token. Only variables that are
	// sensitive or ephemeral can consume them.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=2048
	// +listType=set
	// +optional
	Private []string `json:"private,omitempty"`

	// The parts that consumers should no longer read. Consumers see a warning; nothing is refused.
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=path
	// +optional
	Deprecated []ContractDeprecation `json:"deprecated,omitempty"`

	// The conditions that each value must meet, in addition to its type.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Validations []ContractValidation `json:"validations,omitempty"`

	// The namespaces whose stacks may consume the contract, besides its own. Any of the grants
	// suffices. A grant that is withdrawn stops further runs of consumers; what they read remains
	// with them.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Grants []ContractGrant `json:"grants,omitempty"`

	// Values of the type, for readers and for plans of consumers before a producer exists. Such plans
	// are never applied.
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=name
	// +optional
	Examples []ContractExample `json:"examples,omitempty"`
}

// ContractGrant allows stacks of other namespaces to consume a contract.
//
// +kubebuilder:validation:XValidation:rule="has(self.namespaces) != has(self.selector)",message="a grant has either namespaces or a selector"
type ContractGrant struct {
	// The names of namespaces.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`

	// Selects namespaces by their labels; the empty selector {} selects all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// ContractDeprecation is a part that consumers should no longer read.
type ContractDeprecation struct {
	// The path of the part, such as subnets[*].cidr.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Path string `json:"path"`

	// The reason, and what to read instead.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// ContractValidation is a condition that each value must meet.
type ContractValidation struct {
	// The condition as a CEL expression over self, the value: self.subnets.size() >= 2. Attributes
	// without a value are null. It is evaluated once everything that it reads is known.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Rule string `json:"rule"`

	// The message if the condition is not met. Defaults to the rule.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// ContractExample is a value of the type.
type ContractExample struct {
	// The name of the example.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// The value. It must fit the type and the validations.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Value apiextensionsv1.JSON `json:"value"`
}

// ContractStatus is the observed state of a contract.
type ContractStatus struct {
	// The generation of the object that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The versions that were declared, with their types, the lowest first.
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=version
	// +optional
	Versions []ContractVersion `json:"versions,omitempty"`

	// How many revisions were published, by all stacks.
	// +optional
	Published int64 `json:"published,omitempty"`

	// The last revision of each stack and version.
	// +kubebuilder:validation:MaxItems=1000
	// +listType=map
	// +listMapKey=producer
	// +listMapKey=version
	// +optional
	Revisions []ContractRevision `json:"revisions,omitempty"`

	// The conditions of the contract: Ready, and Stalled while the spec must be changed.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ContractVersion is a version that was declared.
type ContractVersion struct {
	// The version of the contract.
	Version string `json:"version"`
	// The type in its canonical form: on one line, with sorted attributes.
	Type string `json:"type"`
	// The private paths of the version.
	// +listType=set
	// +optional
	Private []string `json:"private,omitempty"`
	// The deprecated parts of the version.
	// +listType=atomic
	// +optional
	Deprecated []ContractDeprecation `json:"deprecated,omitempty"`
	// The validations of the version.
	// +listType=atomic
	// +optional
	Validations []ContractValidation `json:"validations,omitempty"`
	// When the version was declared first.
	// +optional
	DeclaredAt *metav1.Time `json:"declaredAt,omitempty"`
}

// ContractRevision is a published value. It does not contain the value itself.
type ContractRevision struct {
	// The stack that published it, as NAMESPACE/NAME.
	Producer string `json:"producer"`
	// The version of the contract.
	Version string `json:"version"`
	// The number of the revision, counted for the contract and the stack over all versions.
	Number int64 `json:"number"`
	// The digest of the value's canonical JSON: sha256:HEX, or hmac-sha256:HEX with a key of the
	// server if the contract has private parts.
	Digest string `json:"digest"`
	// When it was published.
	// +optional
	PublishedAt *metav1.Time `json:"publishedAt,omitempty"`
	// The id of the run that published it.
	// +optional
	Run string `json:"run,omitempty"`
	// The revision of the source that the run applied, such as main@sha1:1a2b3c4d.
	// +optional
	SourceRevision string `json:"sourceRevision,omitempty"`
	// The users who approved the plan, with commas between them; empty if it was applied automatically,
	// or if they are not known.
	// +optional
	ApprovedBy string `json:"approvedBy,omitempty"`
}

// The conditions of a contract:
//
//	Ready        stacks can publish and consume the version of the spec
//	└── Stalled  the spec must be changed first; versions declared before remain in use
//
// Reasons of conditions of contracts.
const (
	// ReasonContractDeclared: the version can be published and consumed.
	ReasonContractDeclared = "Declared"
	// ReasonInvalidType: the type cannot be parsed.
	ReasonInvalidType = "InvalidType"
	// ReasonInvalidPath: a private or deprecated path does not lead to a part of the type.
	ReasonInvalidPath = "InvalidPath"
	// ReasonInvalidValidation: a validation cannot be compiled, or reads what the type does not have.
	ReasonInvalidValidation = "InvalidValidation"
	// ReasonInvalidExample: an example does not fit the type or the validations.
	ReasonInvalidExample = "InvalidExample"
	// ReasonVersionExists: the version was declared with another type.
	ReasonVersionExists = "VersionExists"
	// ReasonBreakingChange: the type breaks users of the version before, and the first number is the
	// same.
	ReasonBreakingChange = "BreakingChange"
	// ReasonTooManyVersions: as many versions as a contract can have are declared and published.
	ReasonTooManyVersions = "TooManyVersions"
	// ReasonTypeGrew: the type has other attributes than the version before, and only the third number
	// differs.
	ReasonTypeGrew = "TypeGrew"
)

// Reasons of events of contracts, besides those of conditions.
const (
	// ReasonRevisionPublished: a stack has published a revision.
	ReasonRevisionPublished = "Published"
	// ReasonVersionRetired: a stack does not publish a version any more.
	ReasonVersionRetired = "Retired"
)

// GetConditions returns the conditions.
func (c *Contract) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions.
func (c *Contract) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

// ContractList is a list of contracts.
//
// +kubebuilder:object:root=true
type ContractList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Contract `json:"items"`
}
