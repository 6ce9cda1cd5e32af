// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// Limits of spec.publishes and spec.consumes.
const (
	MaxPublishes = 32
	MaxConsumes  = 64
)

// Publication names an output that the stack publishes as a version of a Contract of its namespace.
type Publication struct {
	// The Contract, in the stack's namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Contract string `json:"contract"`

	// The version of the Contract that the output has, such as 1.2.0. A stack can publish several
	// versions side by side.
	// +kubebuilder:validation:Pattern=`^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})(-[0-9A-Za-z.-]{1,64})?$`
	// +kubebuilder:validation:MaxLength=128
	// +required
	Version string `json:"version"`

	// The name of the output.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Value string `json:"value"`
}

// Consumption names a contract that another stack publishes, and the variable that receives it.
type Consumption struct {
	// The Contract, in the namespace of the stack that publishes it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Contract string `json:"contract"`

	// The versions that the stack accepts, as OpenTofu's constraints: "~> 1.2" is 1.2.0 and later,
	// below 2.0.0. The stack reads the highest one that is published. Defaults to all.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Version string `json:"version,omitempty"`

	// The stack that publishes it.
	// +required
	From ProducerReference `json:"from"`

	// The variable that receives the value. It is set last, over vars and varsFrom.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	As string `json:"as"`

	// The parts that the stack reads, such as vpc_id or subnets[*].id. The variable receives only
	// these, and the stack runs only when one of them changes. Defaults to what the variable's type
	// takes.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=2048
	// +listType=set
	// +optional
	Reads []string `json:"reads,omitempty"`

	// Run without the contract while nobody publishes it: the variable is null. By default the stack
	// waits.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// ProducerReference names a stack that publishes contracts.
type ProducerReference struct {
	// The name of the stack.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// The namespace of the stack, if it is another one. Its Contract must grant this namespace in
	// spec.grants.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// ConsumesFrom returns NAMESPACE/NAME of the stack that publishes what c names.
func (t *Terraform) ConsumesFrom(c Consumption) string {
	if c.From.Namespace != "" {
		return c.From.Namespace + "/" + c.From.Name
	}
	return t.Namespace + "/" + c.From.Name
}
