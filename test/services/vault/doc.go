// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package vault tests the store of bridges to Vault on Vault's own KV engine (test/vault).
package vault
