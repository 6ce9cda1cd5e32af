// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package dependson has what the dependencies of Kustomizations and of HelmReleases have in common: the
// cycles of spec.dependsOn, and the expressions readyExpr.
//
// It knows neither kind and reads nothing: the caller names the dependencies of an object.
package dependson
