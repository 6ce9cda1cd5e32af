// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package brief shortens text for display: to one line, or with a "…" that marks the cut.
package brief
