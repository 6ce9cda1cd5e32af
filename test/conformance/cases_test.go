// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import "slices"

// behaviours are all cases. Each comment begins with the assertion of tofu-controller's own test of
// that number ("Upstream"). If upstream's behaviour is a defect, the case asserts the fixed
// behaviour ("Fixed").
var behaviours = slices.Concat(firstPasses, sources, approvals, outputs, variables, varsFromSecrets, varsFromConfigMaps, newRevisions,
	deletions, drifts, locks, files, backends, readablePlans, healthChecks, webhooks,
	dependencies, remediations, intervals, pains)
