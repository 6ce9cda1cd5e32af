// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package mask hides known secrets in text: in log lines, errors and plans.
//
// Nouns:
//
//   - A secret is a text that must not be shown. Secrets collects them: whole values, the strings
//     in JSON, the lines and settings of files, the password in a URL.
//   - Care is the context in which a secret is masked. A long random text is masked anywhere. A
//     short text is masked where it is a separate word, and a common word such as "app" or
//     "eu-west-1" only where it is a value: masked anywhere, it would make every error unreadable,
//     and the mask would reveal it.
//   - A Detector takes no care. It decides whether a text may be published.
//   - A form is a notation of a secret that is searched directly: the text, its base64 at each of
//     the three possible offsets, its hex digits.
//   - A decoder decodes a notation of any text: backslashes, percent signs, HTML, shell quotes,
//     base64 of text. Decoders are applied to the line, several levels deep, so that combinations
//     are found.
//
// Invariants:
//
//   - A secret that is masked anywhere never appears in a masked text, in any form, in any
//     combination of encodings up to MaxDepth levels. Other forms are not found: compressed,
//     encrypted, reversed or split secrets.
//   - A line that is JSON stays JSON, and field names of tofu's documents are unchanged.
//   - The cost is linear in the text, whatever text and secrets are.
//   - A Masker is safe for concurrent use, and can get more secrets while it is in use.
//
// The package does not know where secrets come from, and reads nothing.
package mask
