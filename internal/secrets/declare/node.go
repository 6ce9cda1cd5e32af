// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package declare

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/yuba-dev/yuba/internal/kit/nearest"
)

// Problem is one mistake in a file.
type Problem struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// ProblemsError are all mistakes of a file.
type ProblemsError struct {
	File     string
	Problems []Problem
}

func (e *ProblemsError) Error() string {
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, fmt.Sprintf("%s:%d:%d: %s", e.File, p.Line, p.Column, p.Message))
	}
	return strings.Join(lines, "\n")
}

// reader collects the problems of a file.
type reader struct{ problems []Problem }

func (r *reader) problem(at *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, Problem{at.Line, at.Column, fmt.Sprintf(format, args...)})
}

// table is a mapping of YAML. Each key is taken once; what remains is unknown.
type table struct {
	*reader
	node *yaml.Node
	// where names the table in messages.
	where  string
	values map[string]*yaml.Node
	keys   map[string]*yaml.Node
	known  []string
}

// table reads a mapping; nil with a problem if the node is something else.
func (r *reader) table(node *yaml.Node, where string) *table {
	t := &table{reader: r, node: node, where: where, values: map[string]*yaml.Node{}, keys: map[string]*yaml.Node{}}
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		return t
	case node.Kind != yaml.MappingNode:
		r.problem(node, "%s is not a mapping", where)
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if _, twice := t.values[key.Value]; twice {
			r.problem(key, "%s has %s twice", where, key.Value)
			continue
		}
		t.values[key.Value], t.keys[key.Value] = node.Content[i+1], key
	}
	return t
}

// take returns the value of a key; nil if there is none.
func (t *table) take(key string) *yaml.Node {
	t.known = append(t.known, key)
	node := t.values[key]
	delete(t.values, key)
	return node
}

// done reports unknown keys.
func (t *table) done() {
	for _, key := range slices.Sorted(maps.Keys(t.values)) {
		text := fmt.Sprintf("%s has no key %q", t.where, key)
		if near := nearest.Word(key, t.known, 3); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		} else {
			text += "; it has " + strings.Join(t.known, ", ")
		}
		t.problem(t.keys[key], "%s", text)
	}
}

func (t *table) text(key, otherwise string) string {
	node := t.take(key)
	if node == nil {
		return otherwise
	}
	if node.Kind != yaml.ScalarNode || node.Tag == "!!null" {
		t.problem(node, "%s: %s is not a text", t.where, key)
		return otherwise
	}
	if strings.ContainsFunc(node.Value, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		t.problem(node, "%s: %s contains a control character", t.where, key)
		return otherwise
	}
	return node.Value
}

// required is text that must not be empty.
func (t *table) required(key string) string {
	node := t.values[key]
	value := t.text(key, "")
	if value == "" {
		at := t.node
		if node != nil {
			at = node
		}
		t.problem(at, "%s needs %s", t.where, key)
	}
	return value
}

// chosen is text that is one of a few words.
func (t *table) chosen(key, otherwise string, words ...string) string {
	node := t.values[key]
	value := t.text(key, otherwise)
	if !slices.Contains(words, value) {
		t.problem(node, "%s: %s is %q; want one of %s", t.where, key, value, strings.Join(words, ", "))
		return otherwise
	}
	return value
}

func (t *table) number(key string, otherwise, least, most int) int {
	node := t.take(key)
	if node == nil {
		return otherwise
	}
	n, err := strconv.Atoi(node.Value)
	if err != nil || node.Kind != yaml.ScalarNode || n < least || n > most {
		t.problem(node, "%s: %s must be a number from %d to %d", t.where, key, least, most)
		return otherwise
	}
	return n
}

func (t *table) flag(key string) bool {
	node := t.take(key)
	if node == nil {
		return false
	}
	if node.Kind != yaml.ScalarNode || node.Tag != "!!bool" {
		t.problem(node, "%s: %s must be true or false", t.where, key)
		return false
	}
	return node.Value == "true"
}

func (t *table) texts(key string) []string {
	node := t.take(key)
	if node == nil {
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		t.problem(node, "%s: %s is not a list", t.where, key)
		return nil
	}
	var list []string
	for _, item := range node.Content {
		if item.Kind != yaml.ScalarNode || item.Value == "" || strings.ContainsFunc(item.Value, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
			t.problem(item, "%s: each of %s must be a text without spaces", t.where, key)
			continue
		}
		list = append(list, item.Value)
	}
	return list
}

var durationRE = regexp.MustCompile(`^([0-9]{1,5})(s|m|h|d)$`)

// duration reads 90d, 36h, 10m or 30s; nil if the key is not there.
func (t *table) duration(key string, least time.Duration) *time.Duration {
	node := t.take(key)
	if node == nil {
		return nil
	}
	units := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	match := durationRE.FindStringSubmatch(node.Value)
	if match == nil {
		t.problem(node, "%s: %s is %q; want a duration such as 90d, 36h or 10m", t.where, key, node.Value)
		return nil
	}
	n, err := strconv.Atoi(match[1])
	d := time.Duration(n) * units[match[2]]
	if err != nil || d < least {
		t.problem(node, "%s: %s must be at least %s", t.where, key, least)
		return nil
	}
	return &d
}
