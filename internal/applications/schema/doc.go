// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package schema turns the openAPISchema of an application's definition into the schema with which
// the API server checks its instances.
//
// Nouns:
//
//   - The text is openAPISchema: JSON Schema as authors of Helm charts write it, for the spec of the
//     instances.
//   - The schema is structural, as CustomResourceDefinitions require it: every field has a type, and
//     fields that are not in it are pruned.
//   - A relaxation is a part of the text that the API server does not enforce. It is a warning.
//   - An internal key begins with an underscore and is at the top level. The platform sets it, users
//     do not: it is not in the schema.
//   - A form key is an extension such as x-cozystack-options. Pages read it; the API server does not
//     know it.
//
// Rules:
//
//   - What means the same in a structural schema is written as one: references to definitions are
//     resolved, ["string","null"] is a nullable string, integer or string is
//     x-kubernetes-int-or-string, a const is an enum, an object without properties keeps everything.
//   - What cannot be enforced, but loses no data, is a warning. Everything else is an error with its
//     path, because pruning would delete fields of users.
//
// Invariants:
//
//   - The text is hostile: its size, depth and number of fields are limited, also after references
//     are resolved. A key that appears twice is an error: readers would disagree about it.
//   - A schema that Parse returns is accepted by the API server: the package asks the server's own
//     validation. An example satisfies the schema it was made from.
//   - Instances and schemas are not modified, and the same text gives the same schema and findings.
//
// The package sends no requests and knows nothing of backends.
package schema
