// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package build compiles what releases and images contain.
//
//   - Programs are packages of a Go module that are compiled together for a platform. Their bytes
//     depend only on the source, the flags and the version of Go.
//   - A version is the output of git describe.
//   - Modules are the Go modules in a compiled program, for bills of materials.
package build
