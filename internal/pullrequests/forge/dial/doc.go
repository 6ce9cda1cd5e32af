// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package dial opens a connection to a repository at a forge of any kind.
package dial
