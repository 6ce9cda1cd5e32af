// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package filetree walks and removes directory trees that programs have made which nobody trusts: deeper than paths are long,
// with millions of names in one directory, with modes that keep everybody out, and changing meanwhile.
//
// Each name is opened in the directory that holds it and no link is followed, so that nothing outside of the tree is reached.
// Names are read in chunks and the number of open descriptors is bounded, whatever the tree looks like. The package does not
// decide what is too much: the caller gives the bounds.
package filetree
