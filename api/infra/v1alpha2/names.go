// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"github.com/fluxcd/pkg/apis/meta"
)

// Annotations of stacks.
const (
	// AnnotationReconcile asks for a pass at once whenever its value changes. Flux's tools set it, too.
	AnnotationReconcile = meta.ReconcileRequestAnnotation
	// AnnotationBreakTheGlass holds the stack for work by hand while it is set.
	AnnotationBreakTheGlass = "break-the-glass.tf-controller/requestedAt"
	// AnnotationRejected names the plan that somebody rejected.
	AnnotationRejected = "yuba.dev/rejected"
	// AnnotationApproved names the plan that somebody approved of a stack that applies its plans by itself, and which a
	// circuit breaker holds.
	AnnotationApproved = "yuba.dev/approved"
	// AnnotationAdoptState says that the stack is to go on with the state of a deleted stack, whose UID it names, without
	// anybody approving that; AdoptAnyState instead of a UID means the state of any.
	AnnotationAdoptState = "yuba.dev/adopt-state"
	// AnnotationAcknowledged says that somebody has checked the resources in status.unproven. The first line is the id of a
	// run: it covers that run and earlier ones. Addresses on further lines limit it to these resources.
	AnnotationAcknowledged = "yuba.dev/acknowledged"
	// AnnotationReplan asks for a fresh plan whenever its value changes.
	AnnotationReplan = "yuba.dev/replan"
)

// OpenOutputsAnnotation is on the Secrets that outputs are written to: which of their keys are not sensitive.
const OpenOutputsAnnotation = "yuba.dev/open-outputs"

// AdoptAnyState is the value of AnnotationAdoptState for the state of any deleted stack.
const AdoptAnyState = "any"

// Finalizers of stacks.
const (
	// Finalizer keeps a stack until what its deletion demands is done.
	Finalizer = "finalizers.tf.contrib.fluxcd.io"
	// DependencyFinalizerPrefix: with the name of a stack behind it, keeps the stacks that this one depends on.
	DependencyFinalizerPrefix = "tf.dependency.of."
)

// Labels that tofu-controller and its branch planner set.
const (
	// LabelRunner: Pods of runs have it, with the name of their stack.
	LabelRunner = "infra.contrib.fluxcd.io/terraform"
	// LabelBranchPlanner: stacks have it that tofu-controller's branch planner made for a pull request.
	LabelBranchPlanner = "infra.weave.works/branch-planner"
	// LabelPullRequestID: such stacks have it, with the number of the pull request.
	LabelPullRequestID = "infra.weave.works/pr-id"
	// LabelPrimaryResource: such stacks have it, with the name of the stack that they are a copy of.
	LabelPrimaryResource = "infra.weave.works/primary-resource"
)

// DefaultWorkspace is the workspace of a stack that names none.
const DefaultWorkspace = "default"

// DefaultServiceAccount is the service account that the Pods of runs have when a stack names none.
const DefaultServiceAccount = "tf-runner"

// Names of what belongs to a state. The kubernetes backend of OpenTofu uses the same.
const (
	stateSecretPrefix = "tfstate-"
	leasePrefix       = "lock-"
)

// StateSecretName is the name of the Secret that keeps the state of a workspace with a suffix.
func StateSecretName(workspace, suffix string) string {
	return stateSecretPrefix + workspace + "-" + suffix
}

// StateLeaseName is the name of the Lease that locks the state of a workspace with a suffix.
func StateLeaseName(workspace, suffix string) string {
	return leasePrefix + StateSecretName(workspace, suffix)
}
