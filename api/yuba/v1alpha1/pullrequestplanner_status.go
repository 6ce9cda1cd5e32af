// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PullRequestPlannerStatus is the observed state of a planner.
type PullRequestPlannerStatus struct {
	meta.ReconcileRequestStatus `json:",inline"`

	// The generation of the object that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The path for the webhooks of the forge, below the address of Yuba's webhooks.
	// +optional
	WebhookPath string `json:"webhookPath,omitempty"`

	// How many pull requests are open.
	// +optional
	Open int32 `json:"open,omitempty"`

	// How many of them have plans that have not ended.
	// +optional
	Planning int32 `json:"planning,omitempty"`

	// The pull requests, the newest first, as far as there is room.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	PullRequests []PullRequestStatus `json:"pullRequests,omitempty"`

	// The conditions Ready, Reconciling and Stalled.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PullRequestStatus is what is known of a pull request.
type PullRequestStatus struct {
	// The GitRepository, NAMESPACE/NAME if it is in another namespace.
	Source string `json:"source"`
	// The number of the pull request.
	Number int32 `json:"number"`
	// The title, shortened.
	// +optional
	Title string `json:"title,omitempty"`
	// The page at the forge.
	// +optional
	URL string `json:"url,omitempty"`
	// The name of the user who opened it.
	// +optional
	Author string `json:"author,omitempty"`
	// The commit that the plans are of.
	// +optional
	Head string `json:"head,omitempty"`
	// How far the plans are.
	State PullRequestState `json:"state"`
	// Why, if that needs a word.
	// +optional
	Message string `json:"message,omitempty"`
	// The sum of all plans.
	// +optional
	Counts PullRequestCounts `json:"counts,omitempty,omitzero"`
	// The stacks that the pull request changes.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	// +optional
	Stacks []PullRequestStack `json:"stacks,omitempty"`
	// How many more stacks there are than the list has.
	// +optional
	MoreStacks int32 `json:"moreStacks,omitempty"`
	// The commit statuses of environments, by their names (feedback.environmentLabel).
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=50
	// +optional
	Environments []PullRequestEnvironment `json:"environments,omitempty"`
	// The stacks behind those, what breaks first, as far as there is room.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +optional
	Behind []PullRequestBehind `json:"behind,omitempty"`
	// How many more stacks behind there are than the list has.
	// +optional
	MoreBehind int32 `json:"moreBehind,omitempty"`
}

// PullRequestEnvironment is the commit status of an environment.
type PullRequestEnvironment struct {
	// The environment: the value of the stacks' label.
	Name string `json:"name"`
	// The name of the commit status.
	Status string `json:"status"`
	// The state of the commit status: pending, success or failure.
	// +kubebuilder:validation:Enum=pending;success;failure
	Result string `json:"result"`
}

// PullRequestBehind is a stack that reads what a pull request changes.
type PullRequestBehind struct {
	// The name, NAMESPACE/NAME.
	Name string `json:"name"`
	// The number of steps from a changed stack.
	Level int32 `json:"level"`
	// The effect on the stack: breaks, fails, refused, changes, same, runs, mayRun or unknown.
	Effect PullRequestEffect `json:"effect"`
	// The inputs that change, without sensitive values, or the reason why the stack breaks.
	// +optional
	Message string `json:"message,omitempty"`
	// The numbers of changes in its plan with the planned values.
	// +optional
	Counts PullRequestCounts `json:"counts,omitempty,omitzero"`
}

// PullRequestEffect is what becomes of a stack behind those that a pull request changes.
// +kubebuilder:validation:Enum=breaks;fails;refused;changes;same;runs;mayRun;unknown
type PullRequestEffect string

// PullRequestState is how far the plans of a pull request are.
// +kubebuilder:validation:Enum=Waiting;Planning;Planned;Failed;Held;Merged;Applied;Drifted
type PullRequestState string

// The states of pull requests.
const (
	PullRequestWaiting  PullRequestState = "Waiting"
	PullRequestPlanning PullRequestState = "Planning"
	PullRequestPlanned  PullRequestState = "Planned"
	PullRequestFailed   PullRequestState = "Failed"
	// PullRequestHeld: a member must say something first.
	PullRequestHeld   PullRequestState = "Held"
	PullRequestMerged PullRequestState = "Merged"
	// PullRequestApplied: all stacks have applied the merge commit, or had nothing to change.
	PullRequestApplied PullRequestState = "Applied"
	// PullRequestDrifted: the infrastructure of a stack differs from what was applied since.
	PullRequestDrifted PullRequestState = "Drifted"
)

// PullRequestCounts are numbers of resources.
type PullRequestCounts struct {
	// How many are created.
	// +optional
	Add int32 `json:"add,omitempty"`
	// How many are changed in place.
	// +optional
	Change int32 `json:"change,omitempty"`
	// How many are destroyed or replaced.
	// +optional
	Destroy int32 `json:"destroy,omitempty"`
}

// PullRequestStack is a stack that a pull request changes.
type PullRequestStack struct {
	// The name, NAMESPACE/NAME.
	Name string `json:"name"`
	// How far its plan is.
	State PullRequestState `json:"state"`
	// Why there is no plan.
	// +optional
	Message string `json:"message,omitempty"`
	// The numbers of changes in the plan.
	// +optional
	Counts PullRequestCounts `json:"counts,omitempty,omitzero"`
	// The digest of the changes. Plans with the same effect have the same.
	// +optional
	Changes string `json:"changes,omitempty"`
}
