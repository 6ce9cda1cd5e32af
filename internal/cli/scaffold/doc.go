// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package scaffold has the command "yuba new", which writes the first files of modules, environments, stacks,
// targets and contracts. It needs no server, and replaces no file.
package scaffold
