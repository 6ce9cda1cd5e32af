// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package approval keeps approvals of plans when manifests are applied to their stacks.
//
// Approving a plan sets spec.approvePlan to its id. A manifest with approvePlan: "" says that plans
// wait for approval, as a missing field does; it must not revoke approvals, or the plan would wait
// forever. So Yuba omits an empty approvePlan when it applies a manifest, and does not own the field
// then. It enforces the empty value only while the stack has a mode (auto, disable, replan), and any
// other value always.
//
// The package changes manifests and calls no API.
package approval
