// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package homes tests what two homes of Yuba do with one PowerDNS server: DNS names move from one to the other, and at each
// moment at most one of them writes a name.
package homes
