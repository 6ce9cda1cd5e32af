// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package audit has the commands about the audit log of policies: to show and export it, and to
// verify it. Verification happens here, and does not rely on the server's word.
package audit
