// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package statefile reads the document in which tofu records what it manages, format version 4:
// https://github.com/opentofu/opentofu/blob/main/internal/states/statefile/version4.go. The stacks'
// side and the runner use it, so it links nothing of Kubernetes; package state stores the documents.
//
// Invariants:
//
//   - Errors quote nothing of a document, because it contains secrets.
//   - Of a state that OpenTofu has encrypted only the serial and the lineage are known.
//   - What is shown hides sensitive values wherever they recur in a resource.
package statefile
