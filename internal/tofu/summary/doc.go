// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package summary has the summaries of diagnostics of tofu and terraform that decide what Yuba does
// next. Nothing else identifies a diagnostic. Compare new releases of the tools with this package.
//
// All decisions use whole summaries, never a part of a text. terraform before 1.9 and tofu before
// 1.8 have no init with -json: [Printed] makes diagnostics of what they print.
//
// A full disk is the only decision on a detail, see [DiskFull].
package summary
