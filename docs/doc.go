// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package docs is the documentation, as files, and a test that runs the commands on its pages.
// internal/web/docsite makes a site of it.
//
// The test runs blocks fenced as "sh": those of one page in order and in one shell, as a reader
// with one terminal would. All pages share one Yuba. Each page has its own namespace, and works in
// a copy of examples/. Other blocks, such as "console" or "yaml", are not run.
package docs
