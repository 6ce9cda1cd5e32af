// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package command reads commands in comments of pull requests: lines that begin with /yuba, and tofu-controller's !replan.
// It is pure, and decides nothing: it says which right a command needs.
//
// Lines in code, in quotes and in HTML comments are not commands: people quote the commands of others, and Yuba's own
// comments show some.
package command
