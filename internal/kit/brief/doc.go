// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package brief makes text short enough for where it is shown: on one line, or cut with a "…" that shows the cut.
package brief
