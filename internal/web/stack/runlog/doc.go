// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package runlog reads the log of a run for the page: lines with numbers, a part of them or those that
// match a search, and the progress of an apply, resource by resource.
//
// It is pure: bytes in, plain data out. Logs are hostile and can be long, so what it keeps is limited,
// whatever the log says.
//
// Invariants:
//
//   - A line's number is its place in the stored log, so that a link to it stays right.
//   - A line that is too long is cut, and says so. No line stops the reading.
//   - Of a line's escape sequences only colours and styles count; everything else is text.
package runlog
