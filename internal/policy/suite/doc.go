// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package suite tests policies with stored plans: a file names policies, plans as
// `tofu show -json` writes them, and the decisions that it expects.
//
// Terms:
//
//   - A suite is a YAML document of the kind PolicyTest in [APIVersion], beside its policies.
//   - A case is one plan of one stack, with the expected decision and findings.
//   - A result is the answer to one case, or to one policy that was only checked.
//
// Invariants:
//
//   - A case is judged by the very code that the server uses, see package judge.
//   - Files that a suite names are below its directory.
//   - A case without an expectation is an error, as is an unknown field: a test that tests nothing
//     must not pass.
package suite
