// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package ui is how commands talk to people and to programs.
//
//   - The Console is where one call of the program reads and writes: the answer goes to standard
//     output, news and questions go to standard error. Colours and questions only appear on
//     terminals.
//   - An Output is the form that -o chose: a table, which is cut to the width of the screen, or
//     JSON and YAML, which are stable.
//   - A CodedError ends the program with an exit code of its own.
//   - A RunView shows the log of a run as it grows.
//
// It knows commands and texts. It does not know the API, and imports no other package of the
// command line.
package ui
