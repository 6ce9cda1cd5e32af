// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package vault tests bridges to Vault on Vault's own core and API (test/vault).
package vault
