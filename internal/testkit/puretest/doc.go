// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package puretest checks that packages with decisions depend on facts only: not on clients,
// contexts, loggers, randomness or clocks.
package puretest
