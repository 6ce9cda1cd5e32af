// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package names has the rules of names that are claimed below a shared domain.
//
// A name is one label of RFC 1035: letters, digits and hyphens, beginning with a letter. An internationalized
// name (RFC 5891) is checked as its letters and kept as its A-label, xn--….
//
// Names are for people, who confuse what looks alike. The skeleton of a name is what it looks like: letters that look
// like others are replaced by these. Two names with one skeleton are confusable. A name is refused if its skeleton is
// that of a reserved name, contains that of a blocked text, or if it mixes scripts, or is of another script and looks
// like ASCII altogether.
//
// The tables are short, on purpose: they have the letters that occur in impersonations of ASCII names, not all of
// Unicode's. They make deception hard, not impossible.
//
// The package asks nobody: which names are taken is not its business.
package names
