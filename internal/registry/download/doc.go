// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package download is what stores of downloaded things have in common: one fetch for all who ask for the same at a time
// ([Flights]), into a directory of its own that is gone whatever happens ([Staging]), and ended when it gets larger than what
// is fetched can be ([Within]).
package download
