// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package caller remembers who sent a request.
//
// An API server replaces the user of a request by the one that its caller impersonates, and forgets the
// caller. Records of who did something need both.
package caller
