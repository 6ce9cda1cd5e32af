// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller keeps the artifacts of sources: GitRepository, OCIRepository, Bucket and ExternalArtifact, as
// Flux's source-controller does in a cluster.
package controller
