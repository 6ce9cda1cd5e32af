// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package site

import "bytes"

// The stylesheet shows tables of this class as blocks on narrow screens. Browsers then forget that they
// are tables, unless their elements say so.
var (
	blockTable = []byte(`<table class="stack-rows"`)
	tableEnd   = []byte("</table>")
)

// roles are the roles of a table's elements, by how their tags begin. Elements are written by
// html/template, so text has no such bytes.
var roles = []struct{ tag, role string }{
	{"<thead", "rowgroup"}, {"<tbody", "rowgroup"}, {"<tr", "row"}, {"<td", "cell"}, {"<th", "columnheader"},
}

// withRoles adds roles to the tables that may be shown as blocks.
func withRoles(html []byte) []byte {
	if !bytes.Contains(html, blockTable) {
		return html
	}
	var out bytes.Buffer
	for {
		before, rest, found := bytes.Cut(html, blockTable)
		out.Write(before)
		if !found {
			return out.Bytes()
		}
		out.Write(blockTable)
		out.WriteString(` role="table"`)
		table, after, _ := bytes.Cut(rest, tableEnd)
		writeRoles(&out, table)
		out.Write(tableEnd)
		html = after
	}
}

// writeRoles writes the content of a table with the roles of its elements.
func writeRoles(out *bytes.Buffer, table []byte) {
	for len(table) > 0 {
		next := bytes.IndexByte(table, '<')
		if next < 0 {
			next = len(table)
		}
		out.Write(table[:next])
		table = table[next:]
		for _, r := range roles {
			if n := len(r.tag); len(table) > n && string(table[:n]) == r.tag && (table[n] == ' ' || table[n] == '>') {
				out.WriteString(r.tag + ` role="` + r.role + `"`)
				table = table[n:]
				break
			}
		}
		if len(table) > 0 && table[0] == '<' {
			out.WriteByte('<')
			table = table[1:]
		}
	}
}
