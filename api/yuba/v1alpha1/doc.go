// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the kinds of the group yuba.dev, for which no published kind exists.
//
// Nouns:
//
//   - Circuit breaker: one outage that many stacks suffer from alike, such as a provider that does not answer. While it is
//     open, nothing that it concerns is applied without a person.
//
// Invariants:
//
//   - Types are data. Methods only read or fill fields; what to do about them is decided elsewhere.
//   - What a status shows of runs is masked and cut before it gets there.
//   - The comments are the text of "kubectl explain circuitbreaker.spec".
//
// +kubebuilder:object:generate=true
// +groupName=yuba.dev
package v1alpha1
