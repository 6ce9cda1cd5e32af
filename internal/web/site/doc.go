// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package site is what all pages have in common: the frame around them, how they are written, kept
// current, and acted upon.
//
// Nouns:
//
//   - A [Handler] makes a [Page] for a [Request]. It reads objects and decides nothing.
//   - A page consists of [Part]s. Each is a template with its data, and has an id.
//   - An [Action] is what a form does: a change, as the person. It ends in a sentence.
//   - A [Button] is an action that a person may or may not do; it says which right is missing.
//
// One handler serves a page and its updates. A browser that shows the page asks for the same address
// as text/event-stream: the site makes the page again whenever one of its topics changes, and sends
// the parts that came out differently. So there is no second way to draw anything, and a page without
// JavaScript shows the same.
//
// Invariants:
//
//   - Everything is drawn by html/template. There are no inline scripts or styles, so that the content
//     security policy can forbid them.
//   - Reading changes nothing. An action is a POST of this site's own pages: the session cookie alone
//     does not authorise one.
//   - What an update costs is bounded: a page is made again at most every [pause], later the longer it
//     takes to make.
package site
