// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package vault tests bridges to Vault on a real one, the core of test/vault. It is not part of "make
// test", because Vault takes long to build: see "make test-vault".
package vault
