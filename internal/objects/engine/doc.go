// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package apply brings the objects of a Kustomization to an API, and away from it.
//
// The nouns:
//
//   - An owner is a Kustomization. Its name and namespace stand in two labels of every object that it owns.
//   - A cluster is the API that objects are applied to, with the rights of whoever they are applied for.
//   - Watches and prints are those of package owned.
//
// Invariants:
//
//   - Every object that exists is tried (a dry run) before any is changed, and new ones are made before those are: a
//     stage with an object that the API refuses leaves what is there as it is. New objects are tried, too, unless there
//     are many of a kind. Definitions and namespaces are a stage of their own, before all else.
//   - An object that is as it was left costs no request.
//   - An object that another living owner has is left alone, and never deleted, unless it is taken by force; who was
//     robbed does not rob back.
//   - Nothing waits for more than some seconds.
//   - Errors show no values of Secrets.
//
// The package knows nothing of builds, health and statuses.
package engine
