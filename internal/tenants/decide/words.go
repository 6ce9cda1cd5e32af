// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"
)

// The reasons of a tenant's conditions, as published by Tenant Operator.
const (
	ReasonReconciled                   = "Reconciled"
	ReasonNotAllResourcesReady         = "NotAllResourcesReady"
	ReasonResourcesFailed              = "ResourcesFailed"
	ReasonResourcesConflicted          = "ResourcesConflicted"
	ReasonResourcesFailedAndConflicted = "ResourcesFailedAndConflicted"
	ReasonRegistryGone                 = "RegistryGone"

	ReasonReconciling       = "Reconciling"
	ReasonReconcileComplete = "ReconcileComplete"

	ReasonResourceConflict = "ResourceConflict"
	ReasonNoConflict       = "NoConflict"

	ReasonHealthy                      = "Healthy"
	ReasonResourceFailures             = "ResourceFailures"
	ReasonResourceConflicts            = "ResourceConflicts"
	ReasonResourceFailuresAndConflicts = "ResourceFailuresAndConflicts"
)

// The phases of a rollout.
const (
	PhaseIdle       = "Idle"
	PhaseInProgress = "InProgress"
	PhaseFailed     = "Failed"
	PhaseComplete   = "Complete"
)

// Named is the number of names in a message.
const Named = 5

// List formats the first few names, and the number of others.
func List(names []string) string {
	if len(names) <= Named {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:Named], ", "), len(names)-Named)
}

// Count formats a number of things.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
