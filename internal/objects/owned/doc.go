// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package owned watches the objects that an owner wrote, and reports whether somebody changed them.
//
// The nouns:
//
//   - An owner is an object that owns others: a Kustomization, a Tenant. Owned objects name it in a
//     label.
//   - A watch follows the metadata of all owned objects of an API, with one informer for each kind.
//   - A look is what a watch keeps of an object besides its metadata, for kinds that need more.
//   - A print identifies an object's content: its generation, labels and annotations, or its version
//     for kinds without generations. Changes of the status do not change it.
//
// Invariants:
//
//   - A watch keeps metadata and looks, not the contents of objects.
//   - Owners of a kind get every change. A kind without owners is not watched.
//   - Asking a watch costs no request.
//
// The package writes nothing, and does not know what owners want.
package owned
