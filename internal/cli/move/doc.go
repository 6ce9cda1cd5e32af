// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package move has the command "yuba move", which moves namespaces from one home to another.
//
//	command.go  the command and its flags
//	print.go    plans and summaries for people
//
// Package decide has the rules, package shape computes objects, package steps does the work.
package move
