// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package registry contains "yuba registry": modules, providers, the mirror and versions of tools, and
// who uses them. Like all commands, these only talk to a server.
package registry
