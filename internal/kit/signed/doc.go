// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package signed checks the signatures and tokens of webhooks, in constant time. Its errors, for the owner of the token,
// contain neither the token nor the content of the hook.
package signed
