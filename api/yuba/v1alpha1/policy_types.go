// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The names of the kinds.
const (
	PolicyKind        = "Policy"
	ClusterPolicyKind = "ClusterPolicy"
)

// Policy judges the plans of stacks in its namespace. Rules say what a plan must not do; the policy
// says what follows if it does, and whether a plan that follows all rules needs no person.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="On Violation",type="string",JSONPath=".spec.onViolation",description="The effect of a violated rule."
// +kubebuilder:printcolumn:name="Frees",type="boolean",JSONPath=".spec.autoApprove",description="Whether plans without violations need no person."
// +kubebuilder:printcolumn:name="Enforcement",type="string",JSONPath=".spec.enforcement",description="Whether the policy is in force, or only recorded."
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether its rules can be used."
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="The message of the condition Ready."
type Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The selected stacks and the rules.
	// +required
	Spec PolicySpec `json:"spec"`

	// The observed state of the policy. The server writes it.
	// +optional
	Status PolicyStatus `json:"status,omitempty,omitzero"`
}

// ClusterPolicy is a Policy for the stacks of all namespaces. Those who may only change objects of
// their namespaces cannot remove it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="On Violation",type="string",JSONPath=".spec.onViolation",description="The effect of a violated rule."
// +kubebuilder:printcolumn:name="Frees",type="boolean",JSONPath=".spec.autoApprove",description="Whether plans without violations need no person."
// +kubebuilder:printcolumn:name="Enforcement",type="string",JSONPath=".spec.enforcement",description="Whether the policy is in force, or only recorded."
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether its rules can be used."
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="The message of the condition Ready."
type ClusterPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The selected stacks and the rules.
	// +required
	Spec ClusterPolicySpec `json:"spec"`

	// The observed state of the policy. The server writes it.
	// +optional
	Status PolicyStatus `json:"status,omitempty,omitzero"`
}

// ClusterPolicySpec is what a ClusterPolicy selects, and what it asks for.
type ClusterPolicySpec struct {
	PolicySpec `json:",inline"`

	// Selects stacks by the labels of their namespaces. Empty means all namespaces.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// PolicySpec is what a policy selects, and what it asks for.
type PolicySpec struct {
	// Selects stacks by their labels; {} selects all.
	// +required
	Selector metav1.LabelSelector `json:"selector"`

	// The rules. A plan that violates none passes.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +required
	Rules []PolicyRule `json:"rules"`

	// When the policy judges. prePlan: the configuration, before a run starts, so before any program or
	// provider of it is executed. What the policy denies is not even planned; its other violations are
	// found again in the plan, which the policy judges, too. plan: plans of changes, and of a deletion.
	// drift: plans that a drift check made.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:Enum=prePlan;plan;drift
	// +kubebuilder:default:={plan,drift}
	// +listType=set
	// +optional
	Stages []PolicyStage `json:"stages,omitempty"`

	// The effect of a violated rule. deny: nobody can apply it. requireApproval: it waits for
	// a person, also where plans are applied automatically. warn: the same, but only for anybody who
	// may approve plans of the stack.
	// +kubebuilder:validation:Enum=deny;requireApproval;warn
	// +kubebuilder:default:=requireApproval
	// +optional
	OnViolation PolicyEffect `json:"onViolation,omitempty"`

	// Who must approve a plan that violates a rule whose effect is requireApproval. With it, only
	// approvals that the API has recorded count ("yuba approve"): a plan's id in spec.approvePlan does
	// not say who wrote it. Without it, one approval is enough, in either way.
	// +optional
	Approvals *PolicyApprovals `json:"approvals,omitempty"`

	// Whether a plan without violations needs no person, in stacks with approvePlan "policy". Another
	// policy can still hold or refuse it.
	// +kubebuilder:default:=false
	// +optional
	AutoApprove bool `json:"autoApprove,omitempty"`

	// Whether the policy is in force. audit: what it finds is recorded, and changes nothing.
	// +kubebuilder:validation:Enum=enforce;audit
	// +kubebuilder:default:=enforce
	// +optional
	Enforcement PolicyEnforcement `json:"enforcement,omitempty"`

	// Findings that do not count, for a while.
	// +kubebuilder:validation:MaxItems=200
	// +listType=atomic
	// +optional
	Exemptions []PolicyExemption `json:"exemptions,omitempty"`
}

// PolicyStage says when a policy judges.
type PolicyStage string

const (
	PolicyPrePlan PolicyStage = "prePlan"
	PolicyPlan    PolicyStage = "plan"
	PolicyDrift   PolicyStage = "drift"
)

// PolicyEffect says what follows from a violation.
type PolicyEffect string

const (
	PolicyDeny            PolicyEffect = "deny"
	PolicyRequireApproval PolicyEffect = "requireApproval"
	PolicyWarn            PolicyEffect = "warn"
)

// PolicyEnforcement says whether a policy is in force.
type PolicyEnforcement string

const (
	PolicyEnforce PolicyEnforcement = "enforce"
	PolicyAudit   PolicyEnforcement = "audit"
)

// PolicyRule is one rule: a built-in one, an expression in CEL, or rules in Rego.
//
// +kubebuilder:validation:XValidation:rule="(has(self.builtin) ? 1 : 0) + (has(self.cel) ? 1 : 0) + (has(self.rego) ? 1 : 0) == 1",message="a rule has exactly one of builtin, cel and rego"
// +kubebuilder:validation:XValidation:rule="!has(self.message) || has(self.cel)",message="only rules in CEL have a message"
// +kubebuilder:validation:XValidation:rule="!has(self.name) || !has(self.builtin)",message="a built-in rule has its own name"
type PolicyRule struct {
	// The name of a built-in rule; see "yuba policy rules".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Builtin string `json:"builtin,omitempty"`

	// The name of a rule in CEL or Rego, for findings and exemptions. Defaults to "cel-" or "rego-" and
	// the position of the rule in the list, from 1.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Name string `json:"name,omitempty"`

	// A boolean CEL expression over the facts of the plan, such as "facts.counts.total.create < 10". The
	// plan violates the rule if it is false, reads an unknown or sensitive value, or fails.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	// +optional
	CEL string `json:"cel,omitempty"`

	// The message if the expression is false. Defaults to the expression.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`

	// Rules in Rego: deny, violation and warn, as Conftest has them.
	// +optional
	Rego *PolicyRego `json:"rego,omitempty"`

	// The parameters of a built-in rule.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	With *apiextensionsv1.JSON `json:"with,omitempty"`

	// The effect if a plan violates this rule, in place of onViolation.
	// +kubebuilder:validation:Enum=deny;requireApproval;warn
	// +optional
	OnViolation PolicyEffect `json:"onViolation,omitempty"`
}

// PolicyRego are rules in Rego, from a source or as text.
//
// +kubebuilder:validation:XValidation:rule="has(self.sourceRef) != has(self.inline)",message="rules in Rego have exactly one of sourceRef and inline"
// +kubebuilder:validation:XValidation:rule="!has(self.path) || has(self.sourceRef)",message="only a source has a path"
type PolicyRego struct {
	// The source with the rules, as Flux makes it. If it disappears, the last rules from it stay in
	// force.
	// +optional
	SourceRef *PolicySourceReference `json:"sourceRef,omitempty"`

	// The directory in the source. Defaults to the whole source.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Path string `json:"path,omitempty"`

	// A module of Rego.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	Inline string `json:"inline,omitempty"`

	// The package of the rules.
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:default:=main
	// +optional
	Package string `json:"package,omitempty"`
}

// PolicySourceReference names a source.
type PolicySourceReference struct {
	// The kind of the source.
	// +kubebuilder:validation:Enum=GitRepository;Bucket;OCIRepository;ExternalArtifact
	// +required
	Kind string `json:"kind"`

	// The name of the source.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// The namespace of the source: required in a ClusterPolicy. A Policy can only use sources of its
	// own namespace.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// PolicyExemption takes findings out, for a while.
type PolicyExemption struct {
	// The rules; empty means all of the policy.
	// +kubebuilder:validation:MaxItems=100
	// +listType=set
	// +optional
	Rules []string `json:"rules,omitempty"`

	// The stacks, as NAMESPACE/NAME; empty means all. "*" stands for any text.
	// +kubebuilder:validation:MaxItems=100
	// +listType=set
	// +optional
	Stacks []string `json:"stacks,omitempty"`

	// The addresses of resources; empty means all. "*" stands for any text.
	// +kubebuilder:validation:MaxItems=100
	// +listType=set
	// +optional
	Addresses []string `json:"addresses,omitempty"`

	// Why.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Reason string `json:"reason"`

	// When the exemption ends.
	// +required
	Expires metav1.Time `json:"expires"`
}

// PolicyStatus is the observed state of a policy.
type PolicyStatus struct {
	// The generation that the conditions are about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The conditions: Ready says whether all rules can be used.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The rules in Rego that are in force, of each source and path.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Bundles []PolicyBundle `json:"bundles,omitempty"`
}

// PolicyBundle are the rules from a source. The server keeps them, so they outlive the source.
type PolicyBundle struct {
	// The source, as KIND/NAMESPACE/NAME.
	Source string `json:"source"`
	// The directory in the source.
	// +optional
	Path string `json:"path,omitempty"`
	// The revision of the source.
	// +optional
	Revision string `json:"revision,omitempty"`
	// The digest of the files.
	Digest string `json:"digest"`
	// Since when they are in force.
	Since metav1.Time `json:"since"`
}

// Reasons of the condition Ready of policies.
const (
	// ReasonPolicyInForce: the rules are used.
	ReasonPolicyInForce = "InForce"
	// ReasonPolicyAudited: the rules are used, and what they find is only recorded.
	ReasonPolicyAudited = "Audited"
	// ReasonPolicyInvalid: a rule cannot be used, so the policy lets no plan pass.
	ReasonPolicyInvalid = "InvalidRule"
	// ReasonPolicyLastBundle: a source of rules is gone or cannot be used, and the last rules from it
	// stay in force.
	ReasonPolicyLastBundle = "LastBundle"
)

// Reasons of events about policies, besides those of the condition Ready.
const (
	// ReasonPolicyRecovered: all rules can be used again.
	ReasonPolicyRecovered = "Recovered"
	// ReasonPolicyBundleChanged: other rules from a source are in force.
	ReasonPolicyBundleChanged = "BundleChanged"
)

// GetConditions returns the conditions.
func (p *Policy) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces the conditions.
func (p *Policy) SetConditions(conditions []metav1.Condition) { p.Status.Conditions = conditions }

// GetConditions returns the conditions.
func (p *ClusterPolicy) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces the conditions.
func (p *ClusterPolicy) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = conditions
}

// State returns the status, to be changed.
func (p *Policy) State() *PolicyStatus { return &p.Status }

// State returns the status, to be changed.
func (p *ClusterPolicy) State() *PolicyStatus { return &p.Status }

// PolicyList is a list of policies.
//
// +kubebuilder:object:root=true
type PolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Policy `json:"items"`
}

// ClusterPolicyList is a list of cluster policies.
//
// +kubebuilder:object:root=true
type ClusterPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterPolicy `json:"items"`
}
