// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"database/sql"
	"encoding/json"
	"fmt"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// picker does for documents what databases do themselves: it selects columns and rows. It tracks
// the columns: one that no row has is an error, one that some rows have is NULL in the others.
type picker struct {
	collector
	where []tenantv1.RowCondition
	names []string
	seen  map[string]bool
	all   int
	// over returns why the reading must end; documents have no server that would notice.
	over func() error

	values []sql.NullString
}

func newPicker(q Query, over func() error) *picker {
	names := q.names()
	return &picker{
		collector: collector{columns: q.Columns, limits: q.Limits},
		where:     q.Where, names: names, seen: map[string]bool{}, over: over, values: make([]sql.NullString, len(names)),
	}
}

// take adds one row. field returns a field, and whether the row has it.
func (p *picker) take(field func(name string) (sql.NullString, bool, error)) error {
	if err := p.over(); err != nil {
		return err
	}
	p.all++
	for i, name := range p.names {
		value, has, err := field(name)
		if err != nil {
			return err
		}
		if has {
			p.seen[name] = true
		}
		p.values[i] = value
	}
	for _, condition := range p.where {
		for i, name := range p.names {
			if name == condition.Column && !holds(condition, p.values[i]) {
				return nil
			}
		}
	}
	// The first names are the columns to read.
	return p.add(p.values[:len(p.columns)])
}

func (p *picker) takeJSON(row map[string]json.RawMessage) error {
	return p.take(func(name string) (sql.NullString, bool, error) {
		raw, has := row[name]
		if !has {
			return sql.NullString{}, false, nil
		}
		value, err := jsonText(raw)
		return value, true, err
	})
}

// reading returns the result. A document's columns are those of its rows: without rows all columns
// exist.
func (p *picker) reading() (*Reading, error) {
	if p.all > 0 {
		for _, name := range p.names {
			if !p.seen[name] {
				return nil, &Error{Class: NotFound, Why: fmt.Sprintf("none of the %d rows has a field %s", p.all, quoted(name))}
			}
		}
	}
	return p.collector.reading(), nil
}
