// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package diagnostic holds what a tool or parser has to say about a root
// module: one error or warning, where in the configuration it arose, and the
// lines of source it is about.
//
// A diagnostic is data. It is stored in run records and shown in conditions,
// logs and terminals; Format and Line turn it into text. Both leave out
// control characters, because summaries, details and snippets are written by
// whoever wrote the configuration and must not steer a reader's terminal.
//
// The package reads no files and knows nothing of HCL or of tofu; packages
// that do fill in the struct.
package diagnostic
