// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package blueprint reads the manifest of a Platform and checks it as a whole, without an API: the schema and
// the rules of the kind as an API server applies them, and what they cannot express (package plan).
//
// Invariants:
//
//   - A manifest without problems is accepted by the API, unless it changes what must not change.
//   - Problems name their field, and quote no values of variables: these may be secrets.
//   - A manifest is one Platform and nothing else: credentials have no place in it.
package blueprint
