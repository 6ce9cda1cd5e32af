// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the kinds of the group yuba.dev, for which no published kind exists.
//
// Terms:
//
//   - Circuit breaker: one outage of many stacks, such as a provider that does not answer. While it
//     is open, Yuba applies nothing that it concerns without approval.
//   - Module source: a git repository whose tags become versions of modules in the registry.
//   - Contract: a versioned type for a value that some stacks publish and others consume. A published
//     value is a revision.
//   - Failover record: a DNS name whose answer depends on which of its endpoints are up.
//
// Invariants:
//
//   - Types are data. Methods only read or fill fields.
//   - What a status shows of runs is masked and cut before it gets there.
//   - The comments are the text of "kubectl explain circuitbreaker.spec".
//
// +kubebuilder:object:generate=true
// +groupName=yuba.dev
package v1alpha1
