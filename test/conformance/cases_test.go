// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import "slices"

// behaviours are all cases. The comment of each says what tofu-controller's own test of the number asserts; where that is
// a defect, the case asserts the cure and says so.
var behaviours = slices.Concat(firstPasses, sources, approvals, outputs, variables, varsFromSecrets, varsFromConfigMaps, newRevisions,
	deletions, drifts, locks, files, backends, readablePlans, healthChecks, webhooks,
	dependencies, remediations, intervals, pains)
