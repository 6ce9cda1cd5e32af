// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package download is shared by the stores of downloaded things: [Flights] fetches once for all
// concurrent requests of the same thing, [Staging] provides a temporary directory that is always
// removed, and [Within] ends a download that grows too large.
package download
