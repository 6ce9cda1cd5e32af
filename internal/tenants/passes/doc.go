// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package passes contains what reconciliations ("passes") of registries, templates and tenants
// share: access to the API, queues, backoff, and the facts that the kinds share.
//
// Terms:
//
//   - [API] is the API that this server belongs to.
//   - [Findings] are what the passes over registries report to the passes over their templates.
//     They are in memory only: after a restart, the next pass over the registry reports again.
//   - A [Standing] is the current state of a tenant, for the objects above it.
//
// The three kinds exchange everything else through their objects.
package passes
