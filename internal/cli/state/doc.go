// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package state has the commands about states: pull, list, show, history, changes and rollbacks,
// adoption, outputs, locks, the shell in a working directory, and the report about replacing
// tofu-controller.
//
// A command that changes a state first shows the change, and asks. The server then refuses if
// another run has written the state meanwhile.
package state
