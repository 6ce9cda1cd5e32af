// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package bundle has the commands "yuba bundle …", which carry what a server needs across an air gap in one archive: create
// it where the Internet is, verify it, and push its images to a registry inside. "yuba up --bundle" uses it.
//
// The commands need no server.
package bundle
