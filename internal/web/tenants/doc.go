// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package tenants shows tenants: the registries with their rows, the templates with their rollouts, who
// is ready and what is in the way, and deletions that wait for a person.
//
// Invariants:
//
//   - A confirmation names the deletion that the person saw. If another one is held meanwhile, nothing
//     is confirmed.
//   - Values of extra columns are never shown, because Yuba cannot know which of them are secret.
//     Rendered objects hide what package hide does.
package tenants
