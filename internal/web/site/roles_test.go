// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"html"
	"testing"
)

func TestTablesKeepTheirRolesAsBlocks(t *testing.T) {
	for in, want := range map[string]string{
		"":                                      "",
		"<p>no table":                           "<p>no table",
		`<table class="matrix"><tr></table>`:    `<table class="matrix"><tr></table>`,
		`<table class="stack-rows"><tr><td>`:    `<table class="stack-rows" role="table"><tr role="row"><td role="cell"></table>`,
		`<table class="stack-rows"></table><p>`: `<table class="stack-rows" role="table"></table><p>`,
		`a<table class="stack-rows" id="x"><thead><tr><th>A</th></tr></thead><tbody><tr class="b"><td><a href="/">x</a><track></td></tr></tbody></table>b<table class="stack-rows"><td></table><td>`: `a<table class="stack-rows" role="table" id="x">` +
			`<thead role="rowgroup"><tr role="row"><th role="columnheader">A</th></tr></thead><tbody role="rowgroup"><tr role="row" class="b"><td role="cell"><a href="/">x</a><track></td></tr></tbody></table>` +
			`b<table class="stack-rows" role="table"><td role="cell"></table><td>`,
		`<table class="stack-rows"><td>` + html.EscapeString("<td >") + `</table>`: `<table class="stack-rows" role="table"><td role="cell">&lt;td &gt;</table>`,
	} {
		if got := string(withRoles([]byte(in))); got != want {
			t.Errorf("%s:\n%s, want\n%s", in, got, want)
		}
	}
}
