// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package yamltext writes values so that readers of YAML take them as they are.
//
// An API server reads server-side apply as YAML, and JSON is YAML but for a few characters: a
// control character such as U+007F or U+0092, which a quote in the wrong encoding becomes, is
// refused with the whole object, and a line separator such as U+0085 turns into a space without a
// word. Escaped, all of them arrive.
package yamltext
