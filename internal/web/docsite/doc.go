// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package docsite makes a site of the documentation: the web page serves it under /docs, and
// "make site" writes the same pages to files.
//
//   - [Docs] are the pages in the order of the map, which is docs/README.md: its headings are chapters.
//   - A [Page] has a source, such as how-to/drift.md, and a path, how-to/drift.html.
//   - [Rendered] is a page as HTML without a frame around it.
//   - The [Index] finds pages by words: the server, and assets/docs.js in the browser, search it by the
//     same rules.
//
// Invariants:
//
//   - The same files make the same bytes.
//   - Links are relative, so that the site works below any path and from a file system.
//   - Nothing is loaded from elsewhere: what a page leads to outside docs/ is shown as text with its path
//     in the repository.
//   - There are no inline scripts or styles. Diagrams are SVG, drawn by [diagram], and code is marked by
//     [colour]: chroma's lexers cannot be linked one by one, and all of them have 2.5 MB.
//
// [diagram]: github.com/yuba-dev/yuba/internal/web/docsite/diagram
// [colour]: github.com/yuba-dev/yuba/internal/web/docsite/colour
package docsite
