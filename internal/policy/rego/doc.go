// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package rego evaluates rules in Rego, in processes of yuba-policy.
//
// Terms:
//
//   - A bundle has the files of rules: modules, tests and data. Its digest identifies them.
//   - An input is what rules judge: the members of the plan's JSON, and the facts as "facts".
//   - An engine has processes. Each keeps the bundles that it compiled and the members of the last
//     input, and lives until it exceeds a limit.
//
// Invariants:
//
//   - An evaluation has findings or an error. Errors are for people: they say where in the rules, or
//     which limit.
//   - A process that does not answer in time is ended. The next call starts another one, so one
//     policy cannot stop others.
//   - A process has no files, environment or network, and at most wire.MaxMemory of memory.
//   - Only members of the input that a bundle can read are sent.
package rego
