// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package kinds knows which kinds an API serves, in which versions, and whether their objects have
// a status.
//
// The nouns:
//
//   - A kind is served when the API lists it. A kind that is served in another version only is an
//     [OtherVersionError].
//   - A kind is defined when the API has its CustomResourceDefinition. It may be defined and not
//     served for a moment, or not in a version: its objects exist all the same.
//   - A plain kind has objects that are ready as soon as they exist, such as ConfigMaps.
//
// Invariants:
//
//   - Asking twice costs no request, whether the kind is served or not. A definition that comes or
//     changes makes the API be asked again.
//   - Without the right to read definitions, a kind that is not served is taken as not defined, and
//     each kind to have a status.
package kinds
