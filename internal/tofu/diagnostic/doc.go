// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package diagnostic holds messages of a tool or parser about a root module: one error or warning,
// its position in the configuration, and the source lines that it is about.
//
// A diagnostic is data. It is stored in run records and shown in conditions, logs and terminals;
// Format and String turn it into text. Both escape control characters, because the author of the
// configuration writes summaries, details and snippets, and must not control a reader's terminal.
//
// The package reads no files and does not know HCL or tofu; packages that do fill in the struct.
package diagnostic
