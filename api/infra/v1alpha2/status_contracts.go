// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ContractsStatus describes what a stack publishes and consumes. It never contains values.
type ContractsStatus struct {
	// The last revision of each contract and version that the stack published.
	// +kubebuilder:validation:MaxItems=200
	// +listType=atomic
	// +optional
	Published []PublishedRevision `json:"published,omitempty"`

	// Why an applied value was not published: it does not fit its contract. Empty if all were.
	// +optional
	Problem string `json:"problem,omitempty"`

	// Identifies the outputs and contracts that were checked last. With others, Yuba checks again.
	// +optional
	Checked string `json:"checked,omitempty"`

	// The consumed contracts, one entry for each of spec.consumes.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Consumes []ConsumedContract `json:"consumes,omitempty"`
}

// PublishedRevision is the last revision of a version that a stack published.
type PublishedRevision struct {
	// The name of the Contract.
	// +required
	Contract string `json:"contract"`

	// The version of the Contract.
	// +required
	Version string `json:"version"`

	// The number of the revision, counted for the contract over all versions.
	// +required
	Number int64 `json:"number"`

	// The digest of the value's canonical JSON: sha256:HEX, or hmac-sha256:HEX with a key of the
	// server if the Contract has private parts.
	// +required
	Digest string `json:"digest"`

	// When it was published.
	// +optional
	PublishedAt *metav1.Time `json:"publishedAt,omitempty"`

	// The run that published it.
	// +optional
	Run string `json:"run,omitempty"`

	// The revision of the source that the run applied.
	// +optional
	SourceRevision string `json:"sourceRevision,omitempty"`

	// The users who approved the plan, with commas between them; empty if it was applied automatically,
	// or if they are not known: the API records approvals of plans that policies hold.
	// +optional
	ApprovedBy string `json:"approvedBy,omitempty"`
}

// ConsumedContract describes one of spec.consumes: the variable as the program declares it, which
// producers' plans are checked against, and what the last apply read.
type ConsumedContract struct {
	// The name of the variable that receives the value.
	// +required
	As string `json:"as"`

	// The Contract, in the namespace of the producer.
	// +required
	Contract string `json:"contract"`

	// The producer, as NAMESPACE/NAME.
	// +required
	From string `json:"from"`

	// The accepted versions.
	// +optional
	Version string `json:"version,omitempty"`

	// The variable's type as the program declares it, canonical: on one line, with sorted attributes.
	// Empty until the program was read.
	// +optional
	Type string `json:"type,omitempty"`

	// The parts that the stack reads. "*" is everything.
	// +kubebuilder:validation:MaxItems=1000
	// +listType=atomic
	// +optional
	Reads []string `json:"reads,omitempty"`

	// Whether the stack runs without the contract.
	// +optional
	Optional bool `json:"optional,omitempty"`

	// Whether the variable accepts null: it is nullable, or has a default.
	// +optional
	Nullable bool `json:"nullable,omitempty"`

	// Whether the variable is sensitive or ephemeral, so that it can receive private parts.
	// +optional
	Secret bool `json:"secret,omitempty"`

	// Why the stack cannot consume the contract as it declares it. Producers do not wait for such a
	// stack.
	// +optional
	Problem string `json:"problem,omitempty"`

	// The revision that the last apply read. Not set before the first apply.
	// +optional
	Read *ContractPin `json:"read,omitempty"`
}

// ContractPin is the revision that a plan or an apply used for a variable.
type ContractPin struct {
	// The name of the variable that receives the value.
	// +required
	As string `json:"as"`

	// The Contract, in the namespace of the producer.
	// +required
	Contract string `json:"contract"`

	// The producer, as NAMESPACE/NAME.
	// +required
	From string `json:"from"`

	// The version of the revision. Empty, as are number and digest, if nobody published it and the
	// variable was null.
	// +optional
	Version string `json:"version,omitempty"`

	// The number of the revision.
	// +optional
	Number int64 `json:"number,omitempty"`

	// The digest of the revision.
	// +optional
	Digest string `json:"digest,omitempty"`

	// The digest of the part that the stack reads, or "null". The stack runs when it changes.
	// +required
	Part string `json:"part"`
}

// ContractOutcome says whether a plan keeps a contract.
type ContractOutcome string

const (
	// ContractFits: the planned value fits the contract, and each consumer.
	ContractFits ContractOutcome = "Fits"
	// ContractBreaks: the planned value breaks the contract, or a consumer.
	ContractBreaks ContractOutcome = "Breaks"
	// ContractUnknown: parts are unknown until the apply. They are checked then.
	ContractUnknown ContractOutcome = "Unknown"
)

// ContractVerdict says whether the pending plan keeps a contract that the stack publishes.
type ContractVerdict struct {
	// The name of the Contract.
	// +required
	Contract string `json:"contract"`

	// The versions that the plan publishes, the highest first.
	// +listType=atomic
	// +optional
	Versions []string `json:"versions,omitempty"`

	// Fits, Breaks or Unknown. A plan that breaks waits for a person who approves it by name, even
	// with approvePlan: auto.
	// +kubebuilder:validation:Enum=Fits;Breaks;Unknown
	// +required
	Outcome ContractOutcome `json:"outcome"`

	// Describes which parts break which consumers, and how to go on.
	// +optional
	Message string `json:"message,omitempty"`

	// The consumers that break, and the paths that they read, at most 50.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Broken []ContractHarm `json:"broken,omitempty"`

	// How many consumers break.
	// +optional
	BrokenConsumers int32 `json:"brokenConsumers,omitempty"`
}

// ContractHarm is what a plan does to a consumer.
type ContractHarm struct {
	// The consumer, as NAMESPACE/NAME.
	// +required
	Consumer string `json:"consumer"`

	// The versions that it accepts.
	// +optional
	Version string `json:"version,omitempty"`

	// The path that it reads, behind the contract's name: base.subnets[0].id.
	// +required
	Path string `json:"path"`

	// Describes the path after the plan, such as "is missing (string)".
	// +required
	Says string `json:"says"`
}

// PlanContracts is what the pending plan means for contracts. It holds for the very bytes of the
// plan.
type PlanContracts struct {
	// The revisions that the plan read, sorted by variable. When a part moves, Yuba plans again.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Pins []ContractPin `json:"pins,omitempty"`

	// Whether the plan keeps the contracts that the stack publishes, one entry for each.
	// +kubebuilder:validation:MaxItems=200
	// +listType=atomic
	// +optional
	Verdicts []ContractVerdict `json:"verdicts,omitempty"`

	// Identifies the contracts and consumers that were judged, as sha256:HEX. With others, the plan
	// is judged again.
	// +optional
	Set string `json:"set,omitempty"`

	// The digest of the plan's file that was judged, as sha256:HEX.
	// +optional
	Plan string `json:"plan,omitempty"`

	// When the plan was judged.
	// +optional
	JudgedAt *metav1.Time `json:"judgedAt,omitempty"`

	// Whether the plan was made without the details that the check needs, so that Yuba plans again.
	// +optional
	NeedsPlan bool `json:"needsPlan,omitempty"`
}

// BreaksContracts is true if the pending plan breaks a contract: it needs a person who approves it by
// name.
func (t *Terraform) BreaksContracts() bool {
	c := t.Status.Plan.Contracts
	if c == nil {
		return false
	}
	for i := range c.Verdicts {
		if c.Verdicts[i].Outcome == ContractBreaks {
			return true
		}
	}
	return false
}
