// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire is the HTTP of all forges: JSON over one base URL, with limits, redirects, pages and typed errors.
//
// Invariants:
//
//   - Credentials go to the origin of the base URL only. Redirects that lead elsewhere are errors: a renamed repository
//     stays on its server. Of links to next pages, only path and query are used.
//   - Redirects repeat method and body: forges redirect every request to a renamed repository.
//   - No request is sent while the forge limits them.
//   - Errors quote at most a short, printable message of a refusal, never with a credential.
package wire
