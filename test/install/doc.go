// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package install tests the installation without Go: install.sh with correct and incorrect
// releases, and the first hour, from a release to the first applied stack.
package install
