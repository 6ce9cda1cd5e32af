// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/web/query"
)

// params are what an address asks for.
type params struct {
	query string
	// sort is a column, with a minus for the other direction; empty for states first.
	sort string
	// group is a grouping, see groupings, or label:NAME; empty for none.
	group   string
	columns []string
	// page counts from 1.
	page int
}

// maxColumns is how many columns a table has at most.
const maxColumns = 20

func paramsOf(v url.Values) params {
	p := params{query: v.Get("q"), page: 1}
	if len(p.query) > query.MaxLength+1 {
		p.query = p.query[:query.MaxLength+1]
	}
	p.query = strings.ToValidUTF8(p.query, "?")
	if n, err := strconv.Atoi(v.Get("page")); err == nil {
		p.page = max(1, n)
	}
	if key := v.Get("sort"); knownColumn(strings.TrimPrefix(key, "-")) {
		p.sort = key
	}
	if g := v.Get("group"); knownGroup(g) {
		p.group = g
	}
	for _, list := range v["cols"] {
		for key := range strings.SplitSeq(list, ",") {
			if knownColumn(key) && !slices.Contains(p.columns, key) && len(p.columns) < maxColumns {
				p.columns = append(p.columns, key)
			}
		}
	}
	if len(p.columns) == 0 {
		p.columns = defaultColumns
	}
	return p
}

// encode writes the parameters for an address. What is the default is left out.
func (p params) encode() string {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("q", p.query)
	set("sort", p.sort)
	set("group", p.group)
	if !slices.Equal(p.columns, defaultColumns) {
		set("cols", strings.Join(p.columns, ","))
	}
	if p.page > 1 {
		v.Set("page", strconv.Itoa(p.page))
	}
	return v.Encode()
}

// address is the address of the list with these parameters.
func (p params) address() string { return addressOf(Section, p) }

func addressOf(path string, p params) string {
	if text := p.encode(); text != "" {
		return path + "?" + text
	}
	return path
}

func (p params) withPage(n int) params { p.page = n; return p }

// withSort sorts by a column, or in the other direction if it already does.
func (p params) withSort(column string) params {
	if p.sort == column {
		column = "-" + column
	}
	p.sort, p.page = column, 1
	return p
}

// withTerm replaces the terms of a field by one.
func (p params) withTerm(field, value string) params {
	p.query, p.page = query.With(p.query, field, value), 1
	return p
}
