// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package variables maps the spec of an application to the variables of a root module.
//
// Nouns:
//
//   - A mapping is what a definition says: how names change, and what becomes of objects.
//   - A path leads to a field of the spec: db.instanceClass, users[*].firstName for each element of
//     a list or map.
//   - A target is the variable of a path, and the attributes below it.
//   - A table has the targets of all fields of a schema.
//
// Names of fields follow the mapping. Keys of maps, and of objects that accept any key, are data of
// users and stay as they are.
//
// Invariants:
//
//   - No value is lost silently: two fields with the same target are an error, as are fields whose
//     variable or attribute the module does not declare.
//   - If a table fits a module, then every spec that satisfies the schema has a value for each
//     required variable, and no value of a type that tofu refuses. Strings that may be numbers, and
//     content that the schema does not describe, are left to the run.
//   - The same spec gives the same values, and is not modified.
//   - Findings and errors contain names and types, never values.
//
// The package does not fetch modules: package internal/tofu/module parses them.
package variables
