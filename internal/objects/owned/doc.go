// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package owned follows objects that somebody made and keeps, and tells whether they are as they were left.
//
// The nouns:
//
//   - An owner is whoever made objects: a Kustomization, a tenant. The owned objects say so themselves, by a label.
//   - A watch follows the metadata of all owned objects of one API, one informer for each kind that somebody has objects of.
//   - A look is the little that a watch keeps of an object besides its metadata, where somebody wants to know more.
//   - A print is what tells whether somebody changed an object: its generation, labels and annotations, or its version
//     where the kind counts no generations. Changes of the status leave it as it is.
//
// Invariants:
//
//   - Contents of objects are not kept: a watch has metadata and looks.
//   - Who has objects of a kind hears of every change; a kind that nobody has objects of is not watched.
//   - Asking a watch costs no request.
//
// The package writes nothing, and does not know what owners want.
package owned
