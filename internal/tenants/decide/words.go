// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"
)

// The reasons of a tenant's conditions, in the published words.
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

// The phases of a rollout, in the successor's words.
const (
	PhaseIdle       = "Idle"
	PhaseInProgress = "InProgress"
	PhaseFailed     = "Failed"
	PhaseComplete   = "Complete"
)

// named is how many names a message has.
const named = 5

// list names the first few, and says how many more there are.
func list(names []string) string {
	if len(names) <= named {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:named], ", "), len(names)-named)
}

// Count says how many there are of something.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
