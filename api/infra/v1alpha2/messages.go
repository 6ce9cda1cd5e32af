// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import "unicode/utf8"

// Messages of conditions, as tofu-controller writes them. Those with verbs are formats.
const (
	MessageInitializing     = "Initializing"
	MessagePlanning         = "Terraform Planning"
	MessageApplying         = "Applying"
	MessageReconciling      = "Reconciliation in progress"
	MessageDeleting         = "Deletion in progress"
	MessagePlanGenerated    = "Plan generated"
	MessagePlanNoChanges    = "Plan no changes"
	MessageNothingToDestroy = "No objects need to be destroyed"
	MessageApplyStarted     = "Apply started"
	MessageApplied          = "Applied successfully"
	MessageDestroyed        = "Destroy applied successfully"
	MessageOutputsAvailable = "Outputs available"
	MessageOutputsWritten   = "Outputs written"
	MessageNoOutputsWritten = "No Outputs written"
	MessageNoDrift          = "No drift"
	MessageHealthy          = "Health checks succeeded"
	MessageCheckingHealth   = "Health checks in progress"
	MessageRetryLimit       = "Resource reached maximum number of retries."
	MessageSourceNotReady   = "Source is not ready, artifact not found"

	// MessageAwaitApproval takes the plan's id.
	MessageAwaitApproval = `Plan generated: set approvePlan: "%s" to approve this plan.`
	// MessagePlanOnly stands where a plan is never applied.
	MessagePlanOnly = "Plan generated: This object is in the plan only mode."
	// MessageAtRevision takes a message and the revision it is about.
	MessageAtRevision = "%s: %s"
	// MessageDriftDetected takes the readable plan.
	MessageDriftDetected = "Drift detected.\n%s"
	// MessagePlanError takes the tool's error, as the next three do.
	MessagePlanError           = "Plan error: %s"
	MessageApplyError          = "Apply error: %s"
	MessageDestroyError        = "Destroy error: %s"
	MessageDriftDetectionError = "Drift detection error: %s"
	// MessageLocked takes the lock's id.
	MessageLocked = "Terraform Locked with Lock Identifier: %s"
	// MessageUnlocked takes the lock's id.
	MessageUnlocked = "Terraform Force Unlock with Lock Identifier: %s"
	// MessageSourceNotFound takes the cause.
	MessageSourceNotFound = "could not get Source object: %s"
	// MessageCrossNamespace ends messages about a refused reference to another namespace.
	MessageCrossNamespace = "cross-namespace references have been disabled"
	// MessageAccessDenied takes kind, namespace and name of the refused source.
	MessageAccessDenied = "cannot access %s/%s/%s, " + MessageCrossNamespace
	// MessageDependencyDenied takes namespace and name of the refused stack in dependsOn.
	MessageDependencyDenied = "cannot access %s/%s, " + MessageCrossNamespace
	// MessageSecretDenied takes namespace and name of the refused Secret.
	MessageSecretDenied = "cannot access secret %s/%s, " + MessageCrossNamespace
	// MessageDependencyNotReady takes the wait until the next check, such as 15s.
	MessageDependencyNotReady = "Dependencies do not meet ready condition, retrying in %s"
	// MessageDeletionBlocked takes the names of the dependants, separated by ", ".
	MessageDeletionBlocked = "Deletion in progress, but blocked. Please delete %s to resume ..."
	// MessageTCPCheckFailed takes the check's name and its address.
	MessageTCPCheckFailed = "TCP health check error: %s, url: %s"
	// MessageHTTPCheckFailed takes the check's name and its URL.
	MessageHTTPCheckFailed = "HTTP health check error: %s, url: %s"
)

// MaxMessageLength bounds the messages of conditions, in characters.
const MaxMessageLength = 20000

// TrimMessage cuts a message after [MaxMessageLength] and appends three dots.
func TrimMessage(message string) string {
	if utf8.RuneCountInString(message) <= MaxMessageLength {
		return message
	}
	return string([]rune(message)[:MaxMessageLength]) + "..."
}
