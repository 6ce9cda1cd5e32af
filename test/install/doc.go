// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package install tests how people without Go come to a Yuba: install.sh with releases that are as they should be and with
// others, and the first hour, from a release to the first applied stack.
package install
