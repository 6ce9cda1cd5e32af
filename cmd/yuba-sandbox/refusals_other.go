// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !amd64 && !arm64

package main

// machines has none: nobody has looked at how other machines number and lay out their calls, and no filter is better than
// a wrong one.
var machines []uint32

const foreignCalls = 0

var legacy []rule
