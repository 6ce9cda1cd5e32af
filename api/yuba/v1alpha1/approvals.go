// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// PolicyApprovals says whose approvals a policy asks for.
type PolicyApprovals struct {
	// How many different people must approve.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +kubebuilder:default:=1
	// +optional
	Count int32 `json:"count,omitempty"`

	// Only members of one of these groups count. Empty means everybody who may create
	// terraforms/approve of the group content.yuba.dev.
	// +kubebuilder:validation:MaxItems=20
	// +listType=set
	// +optional
	Groups []string `json:"groups,omitempty"`

	// Whether the authors of the change do not count: the authors and committers of the commits since
	// the last apply, or who pushed the directories. Their e-mail addresses are compared with the names
	// of users. Where not all are known, such as when the object has changed, too, or where they cannot
	// be compared, one more person must approve.
	// +optional
	NotAuthor bool `json:"notAuthor,omitempty"`
}
