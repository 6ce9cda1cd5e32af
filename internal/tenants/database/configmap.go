// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// configMap is a key of a ConfigMap. A watch of ConfigMaps detects its changes.
type configMap struct {
	spec    tenantv1.ConfigMapSource
	secrets Secrets
}

func (*configMap) Changes(context.Context) <-chan struct{} { return nil }

func (*configMap) Close() error { return nil }

func (c *configMap) Read(ctx context.Context, q Query) (*Reading, error) {
	doing := fmt.Sprintf("read key %s of ConfigMap %s", quoted(c.spec.Key), c.spec.Name)
	q, err := q.checked(doing)
	if err != nil {
		return nil, err
	}
	own, cancel := context.WithTimeout(ctx, q.Limits.Time)
	defer cancel()
	data, err := c.secrets.ConfigMap(own, c.spec.Name)
	if err != nil {
		return nil, notFound(ctx, doing, err, NotFound)
	}
	text, has := data[c.spec.Key]
	if !has {
		return nil, &Error{Class: NotFound, Doing: doing, Why: "the key does not exist"}
	}
	reading, err := readText(own, c.spec.Key, text, q)
	if err != nil {
		return nil, finish(ctx, own, err, doing, q.Limits, func(err error) *Error { return &Error{Class: Invalid, Why: said(err.Error())} })
	}
	return reading, nil
}

// readText reads a list in YAML or JSON, or CSV. The key's extension decides, else the beginning of
// the text.
func readText(ctx context.Context, key, text string, q Query) (*Reading, error) {
	if int64(len(text)) > q.Limits.Bytes {
		return nil, tooManyBytes(q.Limits)
	}
	text = strings.TrimPrefix(text, "\ufeff") // spreadsheets write it first
	p := newPicker(q, ctx.Err)
	var err error
	switch kind(key, text) {
	case ".json":
		err = (&jsonDocument{rows: []string{}, take: p.takeJSON}).read(strings.NewReader(text))
	case ".csv":
		err = readCSV(text, p)
	default:
		err = readYAML(text, p)
	}
	if err != nil {
		return nil, err
	}
	return p.reading()
}

func kind(key, text string) string {
	switch ending := strings.ToLower(path.Ext(key)); ending {
	case ".json", ".csv", ".yaml":
		return ending
	case ".yml":
		return ".yaml"
	}
	switch begin := strings.TrimSpace(text); {
	case strings.HasPrefix(begin, "[") || strings.HasPrefix(begin, "{"):
		return ".json"
	case begin == "", strings.HasPrefix(begin, "-"), strings.HasPrefix(begin, "#"), strings.HasPrefix(begin, "%"):
		return ".yaml"
	}
	return ".csv"
}

// readCSV reads a header line and a line for each row. Empty fields are empty strings: CSV has no
// NULL.
func readCSV(text string, p *picker) error {
	reader := csv.NewReader(strings.NewReader(text))
	reader.ReuseRecord = true
	first, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return &Error{Class: Invalid, Why: "the header line is missing"}
	}
	if err != nil {
		return csvError(err)
	}
	columns := map[string]int{}
	for i, name := range first {
		name = strings.TrimSpace(name)
		if _, twice := columns[name]; twice {
			return &Error{Class: Invalid, Why: "two columns have the name " + quoted(name)}
		}
		columns[name] = i
	}
	// The header defines the columns, even without rows.
	for _, name := range p.names {
		if _, has := columns[name]; !has {
			return &Error{Class: NotFound, Why: "there is no column " + quoted(name)}
		}
	}
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return csvError(err)
		}
		err = p.take(func(name string) (sql.NullString, bool, error) {
			return sql.NullString{String: strings.Clone(fields[columns[name]]), Valid: true}, true, nil
		})
		if err != nil {
			return err
		}
	}
}

func csvError(err error) error {
	var told *csv.ParseError
	if errors.As(err, &told) {
		return &Error{Class: Invalid, Why: fmt.Sprintf("line %d, column %d: %s", told.Line, told.Column, told.Err)}
	}
	return err
}

// readYAML reads a list of mappings. Scalars keep their notation: 007 and yes are not converted.
func readYAML(text string, p *picker) error {
	var document yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return &Error{Class: Invalid, Why: said(err.Error())}
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.SequenceNode {
		return &Error{Class: Invalid, Why: "it is not a list", Then: "A list without rows is []"}
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return &Error{Class: Invalid, Why: "it contains more than one YAML document"}
	}
	// Many rows may share a node through aliases; convert it once.
	written := map[*yaml.Node]sql.NullString{}
	for i, item := range document.Content[0].Content {
		merges := mostMerges
		fields, err := mapping(item, &merges)
		if err != nil {
			return &Error{Class: Invalid, Why: fmt.Sprintf("row %d, line %d: %s", i+1, item.Line, err)}
		}
		err = p.take(func(name string) (sql.NullString, bool, error) {
			node, has := fields[name]
			if !has {
				return sql.NullString{}, false, nil
			}
			value, known := written[resolved(node)]
			if known {
				return value, true, nil
			}
			value, err := yamlText(node)
			if resolved(node).Kind != yaml.ScalarNode {
				written[resolved(node)] = value
			}
			return value, true, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mostMerges limits the mappings that a row may merge, directly or not.
const mostMerges = 20

// mapping returns the fields of a mapping, including merged ones.
func mapping(node *yaml.Node, merges *int) (map[string]*yaml.Node, error) {
	node = resolved(node)
	if node.Kind != yaml.MappingNode {
		return nil, errors.New("it is not a mapping of names to values")
	}
	fields := map[string]*yaml.Node{}
	var merged []*yaml.Node
	for pair := range slices.Chunk(node.Content, 2) {
		name := resolved(pair[0])
		switch _, twice := fields[name.Value]; {
		case name.ShortTag() == "!!merge":
			from := resolved(pair[1])
			if from.Kind == yaml.SequenceNode {
				merged = append(merged, from.Content...)
			} else {
				merged = append(merged, from)
			}
		case name.Kind != yaml.ScalarNode:
			return nil, errors.New("the name of a field is not a string")
		case twice:
			return nil, fmt.Errorf("field %s occurs twice", quoted(name.Value))
		default:
			fields[name.Value] = pair[1]
		}
	}
	for _, from := range merged {
		if *merges--; *merges < 0 {
			return nil, fmt.Errorf("it merges more than %d mappings", mostMerges)
		}
		others, err := mapping(from, merges)
		if err != nil {
			return nil, err
		}
		for name, value := range others {
			if _, has := fields[name]; !has {
				fields[name] = value
			}
		}
	}
	return fields, nil
}

func resolved(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// yamlText returns a value as text: scalars as written, others as JSON.
func yamlText(node *yaml.Node) (sql.NullString, error) {
	node = resolved(node)
	if node.Kind == yaml.ScalarNode {
		null := node.ShortTag() == "!!null"
		return sql.NullString{String: node.Value, Valid: !null}, nil
	}
	var value any
	if err := node.Decode(&value); err != nil {
		return sql.NullString{}, &Error{Class: Invalid, Why: said(err.Error())}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return sql.NullString{}, &Error{Class: Invalid, Why: fmt.Sprintf("line %d: the value cannot be written as JSON", node.Line)}
	}
	return sql.NullString{String: string(text), Valid: true}, nil
}
