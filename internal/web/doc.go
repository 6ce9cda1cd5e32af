// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package web is the page: what waits for a person, what changed, what is broken, and the button.
//
// It assembles the pages on a site and guards it. What a page shows is a projection of objects, runs
// and blobs, made when somebody looks; there is no second model, and nothing is stored but sessions.
//
//	access    who looks, what they may, and the API as them
//	login     who they are
//	live      what has changed
//	site      what all pages have in common
//	assets    stylesheet, script, pictures
//	docsite   the documentation as a site; manual shows it
//	fleet, inbox, …   one package for each section
//
// A page's package reads objects, makes plain data of them in pure functions, and draws that with the
// templates in its views.html. It knows no other page's package.
package web
