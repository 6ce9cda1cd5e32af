// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package resolve asks a DNS server for addresses, as resolvers do.
//
// The server is asked directly, without recursion and without a cache: the answer is what the server
// would tell every resolver now. Checks of records that somebody else writes ask a resolver, which may have older answers.
package resolve
