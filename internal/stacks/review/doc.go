// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package review asks services about plans.
//
// The nouns:
//
//   - The payload is the stack's object, the plan (`tofu show -json` without sensitive values), or
//     the object with the plan as status.tfplan.
//   - The reply is a JSON object with status 200. Templates of the stack decide if the plan passes,
//     and compose the message of a refusal.
//
// # Invariants
//
//   - Timeouts, other statuses and unknown replies let no plan pass.
//   - Certificates are verified. A client certificate is used only for its configured host.
//   - Errors contain neither passwords nor queries of URLs.
package review
