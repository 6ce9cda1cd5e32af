// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package setters writes images into files, where comments ask for it.
//
// Nouns:
//
//   - A marker is a comment beside a value, {"$imagepolicy": "namespace:policy"}, in YAML, or in HCL as
//     an addition to Flux.
//   - A setter is what a marker names: namespace:policy for the whole image, or its :name, :tag or
//     :digest.
//   - A change is a value that a setter replaced.
//
// Invariants:
//
//   - Only marked values change. All other bytes of a file stay: comments, line ends, order, quotes.
//   - A changed YAML file has the same structure as before, which is verified, and a text stays a text:
//     the tag 1.10 is quoted.
//   - A file that is not valid, or a marker that is not understood, is left alone and reported.
//   - A second pass with the same values changes nothing.
//
// The package makes no requests and has no clock.
package setters
