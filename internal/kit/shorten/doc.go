// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package shorten shortens text for display: to one line, or with a "…" that marks the cut.
package shorten
