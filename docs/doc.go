// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package docs is the documentation, and a test that runs what it tells people to type.
//
// Blocks fenced as "sh" are run, those of one page in order and in one shell, as a reader with one terminal would. Each
// page has a namespace of its own on one Yuba, and works in a copy of examples/. Blocks fenced as anything else, such as
// "console" or "yaml", are not run.
package docs
