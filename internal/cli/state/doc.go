// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package state has the commands about states: pull, list, show, history, changes and rollbacks, adoption, outputs, locks,
// the shell in a working directory, and the report about replacing tofu-controller.
//
// A command that changes a state shows first what would change, and asks. What it then changes is the state that it showed:
// the server refuses when another run has written it meanwhile.
package state
