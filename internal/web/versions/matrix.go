// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"cmp"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/usage"
)

// byNamespace makes each namespace an environment; unlabelled is the environment of what has no label.
const (
	byNamespace = "namespace"
	unlabelled  = "–"
)

// usual are labels that name environments.
var usual = []string{"environment", "env", "stage", "app.kubernetes.io/environment"}

// order is the way to production; other names come between.
var order = map[string]int{"dev": 1, "development": 1, "test": 2, "testing": 2, "qa": 3, "int": 4, "integration": 4, "uat": 5, "stage": 6, "staging": 6,
	"preprod": 7, "pre-prod": 7, "prod": 90, "production": 90, "live": 90, unlabelled: 99}

const between = 50

// use is one version of something in one place.
type use struct {
	// Kind is source, chart, image, module, provider or tool.
	Kind, Source, Version string
	Environment           string
	// Where is the stack or another object. Address is its page; empty if it has none.
	Where, Address string
	// Says has what else is known: the constraint, the input, and that it is only planned.
	Says   string
	Notice string
	Since  any
}

// matrix is the table: a row for each thing, a column for each environment.
type matrix struct {
	Environments []string
	Rows         []row
}

type row struct {
	Kind, Source, Address string
	Cells                 []cell
	// Differ is true if environments have different versions.
	Differ bool
}

// cell has the versions in one environment, those of most uses first.
type cell []count

type count struct {
	Version string
	Uses    int
	Notice  string
}

// maxEnvironments limits the columns.
const maxEnvironments = 30

// matrixOf counts uses. address is the page of a thing.
func matrixOf(uses []use, address func(source string) string) matrix {
	environments, rows := map[string]bool{}, map[[2]string]map[string][]use{}
	for _, u := range uses {
		environments[u.Environment] = true
		key := [2]string{u.Kind, u.Source}
		if rows[key] == nil {
			rows[key] = map[string][]use{}
		}
		rows[key][u.Environment] = append(rows[key][u.Environment], u)
	}
	var m matrix
	for name := range environments {
		m.Environments = append(m.Environments, name)
	}
	slices.SortFunc(m.Environments, func(a, b string) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a, b)) })
	m.Environments = m.Environments[:min(maxEnvironments, len(m.Environments))]
	for key, places := range rows {
		r := row{Kind: key[0], Source: key[1], Address: address(key[1])}
		all := map[string]bool{}
		for _, name := range m.Environments {
			c := cellOf(places[name])
			for _, one := range c {
				all[one.Version] = true
			}
			r.Cells = append(r.Cells, c)
		}
		r.Differ = len(all) > 1
		m.Rows = append(m.Rows, r)
	}
	slices.SortFunc(m.Rows, func(a, b row) int {
		return cmp.Or(kindRank(a.Kind)-kindRank(b.Kind), strings.Compare(a.Source, b.Source))
	})
	return m
}

func rank(environment string) int {
	if at, known := order[strings.ToLower(environment)]; known {
		return at
	}
	return between
}

var kinds = []string{kindSource, kindChart, kindImage, string(usage.Module), string(usage.Provider), string(usage.Tool)}

func kindRank(kind string) int { return slices.Index(kinds, kind) }

func cellOf(uses []use) cell {
	counts := map[string]*count{}
	for _, u := range uses {
		c := counts[u.Version]
		if c == nil {
			c = &count{Version: u.Version}
			counts[u.Version] = c
		}
		c.Uses++
		c.Notice = cmp.Or(c.Notice, u.Notice)
	}
	var list cell
	for _, c := range counts {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b count) int {
		return cmp.Or(b.Uses-a.Uses, usage.Compare(b.Version, a.Version), strings.Compare(b.Version, a.Version))
	})
	return list
}

// matches reports whether a use has all words of a query.
func (u use) matches(query string) bool {
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		field, value, narrow := strings.Cut(word, ":")
		has := strings.Contains(strings.ToLower(u.Source+" "+u.Version+" "+u.Where), word)
		if narrow && (field == "kind" || field == "version") {
			has = field == "kind" && u.Kind == value || field == "version" && strings.ToLower(u.Version) == value
		}
		if !has {
			return false
		}
	}
	return true
}
