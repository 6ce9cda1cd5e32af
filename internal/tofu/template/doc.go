// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package template renders what stacks may write as templates: the strings of
// spec.values and the file main.tf.tpl.
//
// The nouns:
//
//   - A document is JSON. Each of its strings is a template of its own, with
//     the marks ${{ and }}, and its result is put in the string's place: what is
//     inserted can be any text and never changes the document's structure.
//   - A file is text with the marks {{ and }}, as Helm has them.
//   - A dialect has its own left mark, and functions beside those of all templates. The results of some of them, its
//     types, stay numbers and truths where they are all that a text says.
//   - The budget is what a rendering may cost. A turn of a loop, a call of a
//     template and a call of a function cost what they could take of time and
//     memory, before they take it. A purse is what several renderings that
//     belong together may cost.
//   - A field is what a template asks its data for, as its text tells.
//
// Invariants:
//
//   - Templates are hostile: whatever one says, rendering ends within the budget
//     and reaches nothing but the data it was given.
//   - Equal templates with equal data give equal results: functions of time,
//     chance or surroundings are not there, and those whose result has no order
//     give a sorted one.
//   - A value that is not there can be asked for, as in "if" and "default"; it
//     cannot be written.
//   - No error says anything of the data but the names in the template, except
//     for a message that the template itself composes with "fail".
//
// The package does not know where data comes from or which of it is secret.
package template
