// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package healthcheck computes the status of objects from healthCheckExprs, the CEL expressions that Flux's
// Kustomizations and HelmReleases have for the health of custom objects.
//
// A check is for a kind in all its versions, or, without a kind, for all kinds of a group that have none
// of their own. Its expressions see the object's fields as variables. The first true one of inProgress,
// failed and current decides; while none is true, or the object's controller has not observed its last
// change, the object is in progress.
//
// Cost is limited, as package expression says, and an expression has one second.
package healthcheck
