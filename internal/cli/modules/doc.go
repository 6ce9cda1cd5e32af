// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package modules has the commands about a directory of modules: what they pass to each other, who calls
// whom, and reference pages. They need no server, no tool and no network.
package modules
