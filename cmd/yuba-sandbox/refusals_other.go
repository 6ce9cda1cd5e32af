// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !amd64 && !arm64

package main

// machines is empty: call numbers and layouts of other machines are not checked, and no filter is
// better than a wrong one.
var machines []uint32

const foreignCalls = 0

var legacy []rule
