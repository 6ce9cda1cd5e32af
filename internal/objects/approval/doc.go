// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package approval keeps approvals of plans when manifests are applied over the stacks that have them.
//
// Approving a plan sets spec.approvePlan to its id. A manifest with approvePlan: "" says that plans wait for approval, which
// is also what a missing field says; it must not take approvals back, or the plan would wait forever. So Yuba's appliers
// leave an empty approvePlan out of what they apply, and do not own the field then. They enforce the empty value only while the
// stack has a mode (auto, disable, replan), and any other value always.
//
// The package changes manifests and calls no API.
package approval
