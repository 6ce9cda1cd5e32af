// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"github.com/fluxcd/pkg/apis/meta"
)

// Annotations of stacks.
const (
	// AnnotationReconcile requests a reconciliation whenever its value changes. Flux's tools set
	// it, too.
	AnnotationReconcile = meta.ReconcileRequestAnnotation
	// AnnotationBreakTheGlass stops runs for manual work while it is set.
	AnnotationBreakTheGlass = "break-the-glass.tf-controller/requestedAt"
	// AnnotationRejected names the plan that somebody rejected.
	AnnotationRejected = "yuba.dev/rejected"
	// AnnotationApproved names the approved plan of a stack whose plans are normally applied
	// automatically, and which a circuit breaker holds.
	AnnotationApproved = "yuba.dev/approved"
	// AnnotationDecision describes the last approval or rejection by a person: plan, verdict, by, at
	// and comment, as JSON. It explains, and authorises nothing: whoever may change the stack may write
	// it. The API server's audit log names the user of the request that did.
	AnnotationDecision = "yuba.dev/decision"
	// AnnotationAdoptState lets the stack adopt the state of a deleted stack without approval. The
	// value is the UID of that stack, or AdoptAnyState for any.
	AnnotationAdoptState = "yuba.dev/adopt-state"
	// AnnotationAcknowledged says that somebody has checked the resources in status.unproven. The
	// first line is the id of a run: it covers that run and earlier ones. Addresses on further
	// lines limit it to these resources.
	AnnotationAcknowledged = "yuba.dev/acknowledged"
	// AnnotationToolVersion of a Namespace is the spec.tool.version of its stacks without spec.tool.
	AnnotationToolVersion = "yuba.dev/tool-version"
	// AnnotationToolName of a Namespace is the spec.tool.name of its stacks without spec.tool.
	AnnotationToolName = "yuba.dev/tool-name"
	// AnnotationReplan requests a fresh plan whenever its value changes.
	AnnotationReplan = "yuba.dev/replan"
)

// OpenOutputsAnnotation lists, on a Secret with outputs, the keys that are not sensitive.
const OpenOutputsAnnotation = "yuba.dev/open-outputs"

// AdoptAnyState is the value of AnnotationAdoptState for the state of any deleted stack.
const AdoptAnyState = "any"

// Finalizers of stacks.
const (
	// Finalizer blocks the deletion of a stack until its cleanup is done.
	Finalizer = "finalizers.tf.contrib.fluxcd.io"
	// DependencyFinalizerPrefix: followed by the name of a stack, it blocks the deletion of the
	// stacks that this one depends on.
	DependencyFinalizerPrefix = "tf.dependency.of."
)

// Labels that tofu-controller and its branch planner set.
const (
	// LabelRunner is on the Pods of runs: the name of their stack.
	LabelRunner = "infra.contrib.fluxcd.io/terraform"
	// LabelBranchPlanner is on stacks that tofu-controller's branch planner made.
	LabelBranchPlanner = "infra.weave.works/branch-planner"
	// LabelPullRequestID is on such stacks: the number of the pull request.
	LabelPullRequestID = "infra.weave.works/pr-id"
	// LabelPrimaryResource is on such stacks: the name of the original stack.
	LabelPrimaryResource = "infra.weave.works/primary-resource"
)

// DefaultWorkspace is the workspace of a stack that does not name one.
const DefaultWorkspace = "default"

// DefaultServiceAccount is the default service account of the Pods of runs.
const DefaultServiceAccount = "tf-runner"

// Prefixes of the names of a state's objects, as in the kubernetes backend of OpenTofu.
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
