// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import "embed"

// Files are the pages, and the files beside them that they lead to. Pictures are too large to be
// linked into a program.
//
//go:embed *.md how-to/*.md reference/*.md reference/*.json reference/cli/*.md
var Files embed.FS
