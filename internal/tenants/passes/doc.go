// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package passes contains what reconciliations ("passes") of registries, templates and tenants
// share: access to the API, queues, backoff, and what one kind needs to know of the others.
//
// Nouns:
//
//   - [API] is the API that this server belongs to.
//   - [Findings] are what the passes over registries report to the passes over their templates.
//     They are in memory only: after a restart, the next pass over the registry reports again.
//   - A [Standing] is how a tenant is now, for the objects above it.
//
// Everything else, the three kinds tell each other through their objects.
package passes
