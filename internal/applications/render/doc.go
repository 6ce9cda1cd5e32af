// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package render makes of an instance and its definition the object of the backend: a Terraform object
// or a HelmRelease.
//
// Terms:
//
//   - Choices are what an instance decides by annotations: how its plans are approved, and which
//     identity its runs have. What the definition does not allow is refused, never ignored.
//   - A wrapper is the program that calls a module of a registry: stacks run programs.
//
// Invariants:
//
//   - The same instance and definition give the same object.
//   - Internal keys of a spec reach neither values nor variables.
//   - The object is in the instance's namespace, has the instance as its controller, and acts as a
//     service account of that namespace.
//   - What a user writes is data: it becomes values of variables and of charts, never a part of a
//     program, a template or a name of another object.
//   - Arguments are not changed; results share nothing with them.
package render
