// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of the conditions of planners.
const (
	// ReasonForgeFailed: the forge cannot be asked.
	ReasonForgeFailed = "ForgeFailed"
	// ReasonCredentials: the Secret, or what is in it, is missing or wrong.
	ReasonCredentials = "InvalidCredentials" //nolint:gosec // a reason
	// ReasonNoSources: there is no GitRepository to follow.
	ReasonNoSources = "SourcesNotFound"
	// ReasonPlanned is the reason of the event for the plans of a pull request.
	ReasonPlanned = "PullRequestPlanned"
	// ReasonPullRequestLocked is the reason of the event for a stack that is held for a pull request.
	ReasonPullRequestLocked = "PullRequestLocked"
	// ReasonPullRequestUnlocked is the reason of the event for a stack that a pull request releases.
	ReasonPullRequestUnlocked = "PullRequestUnlocked"
	// ReasonMergeApproved is the reason of the event for a plan that a review has approved.
	ReasonMergeApproved = "MergeApproved"
)
