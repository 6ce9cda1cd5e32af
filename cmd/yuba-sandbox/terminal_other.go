// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !amd64 && !arm64

package main

// machines has none: nobody has looked at how other machines number their calls.
var machines []machine
