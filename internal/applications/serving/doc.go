// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package serving makes the CustomResourceDefinition by which an API serves an application kind.
//
// # Why CustomResourceDefinitions
//
// Cozystack serves its kinds by an aggregated API server without storage: an instance is a HelmRelease
// seen from another side. That server starts anew for each definition, validates no spec, and has no
// place for finalizers, a status or the fields of server-side apply of its own. Here an instance is a
// real object, and the API server itself does what users expect: it validates and fills in defaults,
// tracks fields, watches, explains, and serves a new kind in a moment, in both homes. The cost is a
// second object for each instance, which the server keeps in step with the first.
//
// Terms:
//
//   - The spec of the kind is the definition's schema. The status is Yuba's own and the same for all
//     kinds.
//   - Made-from is the digest of what a definition was made of. An API with that digest has the kind
//     as it should be.
//
// Invariants:
//
//   - The same definition gives the same CustomResourceDefinition, so a pass without news writes
//     nothing.
//   - Names that would become too long for the object of the backend are refused by the API.
//   - Users cannot set internal keys of the spec.
//
// The package is pure, and does not know instances.
package serving
