// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package form turns the schema of an application kind into the controls of a form, and what a person
// wrote into them into the spec of an instance.
//
// Nouns:
//
//   - A [Control] is one field of the form, or a group of them for an object.
//   - The values of a form are texts by the names of its controls: the path of the field in the spec.
//
// Rules:
//
//   - An empty control leaves its field out, so that the API server fills in the default. A person who
//     wants an empty text, an empty list or null writes it in YAML: "", [] or null.
//   - Lists, maps and objects without a schema of their own are written in YAML.
//   - Nothing is checked here that the API server checks: its answer is the one that counts. A control
//     only says what cannot be read at all.
//
// The package is pure. Texts of authors and people are data: templates escape them.
package form
