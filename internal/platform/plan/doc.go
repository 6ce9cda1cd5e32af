// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package plan turns a blueprint into the stacks that make it. It is pure: a Platform and what is known of its
// stacks in, stacks out.
//
// Nouns:
//
//   - A step is a phase of a region, or a component in a region. Each step is one stack. Its id is
//     REGION/PHASE or REGION/COMPONENT.
//   - The standard interface says which variables a phase gets, and which outputs of earlier phases it reads:
//     each phase has one output object with the phase's name. Modules of a library have it.
//   - Given are the facts that no stack can read by itself, such as the addresses of a region's machines.
//
// Invariants:
//
//   - The same blueprint gives the same stacks, in the same order: each after those that it needs.
//   - Names depend only on the names of platform, region and step. So a blueprint that is applied again
//     continues with the stacks that exist.
//   - A blueprint with a problem gives no stacks at all.
//   - No stack has a credential in its spec: credentials are in Secrets that stacks read.
package plan
