// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package web tests the page in a real browser against a real Yuba with real runs.
//
// The browser is Debian's Chromium (tools/ensure-browser installs it). A test opens a tab of its own,
// logs in by the link that "yuba web" prints, and works in a namespace of its own. A tab fails its test
// if the browser reports an error: a script that throws, a violated content security policy, or a
// request that the server refuses.
//
// One test opens every page of the site, of a Yuba that has something on each, and asks axe what keeps
// people from using it. Another logs people in at a real identity provider (test/oidc).
//
// With -screenshots DIR the tests also write the pictures that docs and README show.
package web
