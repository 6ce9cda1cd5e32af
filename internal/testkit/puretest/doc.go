// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package puretest holds packages that decide to what their decisions may depend on: their facts. No client, context, logger,
// randomness or clock is one.
package puretest
