// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package mask hides known secrets in text: in log lines, errors and plans.
//
// The nouns:
//
//   - A secret is a text that must not be shown. Secrets collects them: whole values, the strings in JSON, the lines and
//     settings of files, the password in a URL.
//   - Care says where a secret is looked for. A long random text is hidden anywhere. A short text is hidden where it is a word of its
//     own, and a common word such as "app" or "eu-west-1" only where it is a value: hidden anywhere, they would make every error
//     unreadable, and the mask itself would tell the value.
//   - A form is a way to write a secret that is looked for as such: the text, its base64 at each of the three positions that bytes
//     before it can cause, its hex digits.
//   - A decoder undoes a way to write text whatever the secret is: backslashes, percent signs, HTML, quotes of the shell, base64 of
//     text. Decoders are applied to the line, several levels deep, so that any mix of them is found.
//
// Invariants:
//
//   - A secret that is looked for anywhere never appears in a masked text, in any form, in any mix of encodings up to MaxDepth
//     deep. What is not in the table is not found: compressed, encrypted, reversed or split secrets.
//   - A line that is JSON stays JSON, and the names that tofu's own documents use stay what they are.
//   - The cost is linear in the text, whatever text and secrets are.
//   - A Masker can be used by several goroutines.
//
// The package does not know where secrets come from, and reads nothing.
package mask
