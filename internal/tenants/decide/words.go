// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/objects/rollout"
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
	PhaseIdle       = rollout.PhaseIdle
	PhaseInProgress = rollout.PhaseInProgress
	PhaseFailed     = rollout.PhaseFailed
	PhaseComplete   = rollout.PhaseComplete
)

// Named is the number of names in a message.
const Named = 5

// List formats the first few names, and the number of others.
func List(names []string) string { return shorten.Names(names, Named) }

// Count formats a number of things.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
