// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package conform checks whether an output is a value of its contract's type.
//
// An output fits, breaks the contract, or is unknown until the apply. Each finding has a path:
//
//   - missing: a required attribute is not there;
//   - null: it is there, and null, or an element is;
//   - type: OpenTofu would not convert every value of this type (see package shape: "80" is not a
//     number here, so that the next value does not surprise a consumer);
//   - length: a tuple has another number of elements;
//   - gone: the configuration does not have the output any more;
//   - exposed: the output is sensitive, and the contract names nothing private;
//   - unknown: the part is known after the apply only, and is checked again then.
//
// Findings that differ in an index or key of a collection count as one, with the first path.
//
// Invariants:
//
//   - An output with breaks breaks the contract whatever else is unknown.
//   - The Value of an output without breaks has the contract's type: defaults are filled in,
//     optional attributes that are missing are null, attributes that the type does not have are
//     dropped, and Extra names them. Its canonical JSON is the revision.
//   - A value that fits still fits after it was delivered (a law in the tests).
package conform
