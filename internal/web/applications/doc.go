// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package applications shows the kinds that ApplicationDefinitions declare to the people who use them:
// a catalogue of kinds, the instances of each, a form that makes or changes one, and its status, outputs
// and plan.
//
// Nouns:
//
//   - A kind is what a definition declares, an instance one object of it.
//   - A trial is a form that was sent to be tried: the API server checks it as the person, defaults are
//     filled in, and nothing is stored.
//
// Invariants:
//
//   - Instances are read, tried and written as the person. The definitions are shown to who may list
//     them; without that right there is no catalogue.
//   - A form is created from the definition's schema, and the API server judges what was written. A
//     change replaces the spec of exactly the version that the person saw.
//   - What people write into a form is in no address: it may be secret.
package applications
