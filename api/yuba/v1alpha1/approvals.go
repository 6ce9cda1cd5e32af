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

	// Whether owners by CODEOWNERS must be among those who approve: one of each group that owns files of
	// the stack's program. The file is that of the source's last applied revision, or of the current one
	// if nothing was applied or it had none. Without a file, nobody can approve.
	// +optional
	Codeowners bool `json:"codeowners,omitempty"`

	// Whom the names in CODEOWNERS stand for. Others are taken as they are: "@name" is the user or the
	// group of that name, "@organisation/team" the group "organisation/team", an e-mail address the
	// user of that name.
	// +kubebuilder:validation:MaxItems=200
	// +listType=map
	// +listMapKey=name
	// +optional
	Owners []PolicyOwner `json:"owners,omitempty"`
}

// PolicyOwner says whom a name in CODEOWNERS stands for.
type PolicyOwner struct {
	// The name as the file has it, such as "@acme/network". Case does not matter.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +required
	Name string `json:"name"`

	// The users, as the API server names them.
	// +kubebuilder:validation:MaxItems=50
	// +listType=set
	// +optional
	Users []string `json:"users,omitempty"`

	// The groups, as the API server names them.
	// +kubebuilder:validation:MaxItems=20
	// +listType=set
	// +optional
	Groups []string `json:"groups,omitempty"`
}
