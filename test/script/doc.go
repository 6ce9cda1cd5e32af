// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package script runs the scripts in testdata: each contains a command, or several in sequence, as
// a user types them. The test binary acts as the program.
//
// Scripts named up_* share one real server in each home, with a namespace each. Scripts named own_*
// have their own server, because they replace its data. The others need no server.
package script
