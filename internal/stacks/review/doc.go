// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package review asks services about plans.
//
// The nouns:
//
//   - The payload is what a service gets: the stack's object, the plan, or the object with the plan as status.tfplan. The
//     plan is what `tofu show -json` says of it, in that schema, with sensitive values replaced.
//   - The reply is a JSON object with status 200. The stack says, as a template over it, whether it lets the plan pass,
//     and with another one what the refusal's message is.
//
// # Invariants
//
//   - Only a reply that says so lets a plan pass: no answer, another status, or a reply that nobody understands does not.
//   - Certificates are verified. A client certificate is shown only where one is configured for the host.
//   - No error holds the password or the query of a URL.
package review
