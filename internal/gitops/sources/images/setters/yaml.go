// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package setters

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// scalar is a value with a marker.
type scalar struct {
	node   *yaml.Node
	setter string
	object Object
}

// yaml edits a YAML file.
func (s *Setters) yaml(_ string, content []byte) Result {
	documents, err := parse(content)
	if err != nil {
		return Result{Problem: "it is not valid YAML: " + err.Error()}
	}
	p := &plan{setters: s, content: content}
	lines := linesOf(content)
	var found []scalar
	for _, document := range documents {
		found = append(found, scalarsOf(document, objectOf(document))...)
	}
	sort.SliceStable(found, func(i, j int) bool {
		return found[i].node.Line < found[j].node.Line || found[i].node.Line == found[j].node.Line && found[i].node.Column < found[j].node.Column
	})
	var wanted []string
	for _, one := range found {
		value, ok := p.value(one.setter)
		if !ok || value == one.node.Value {
			continue
		}
		start, end, ok := locate(content, lines, one.node)
		if !ok || len(p.spans) > 0 && p.spans[len(p.spans)-1].end > start {
			p.problem(fmt.Sprintf("line %d: the value before the marker is not a simple text on one line", one.node.Line))
			continue
		}
		p.replace(start, end, quoted(one.node.Style, value), Change{one.node.Value, value, one.setter, one.object})
		one.node.Value, one.node.Tag = value, "!!str"
		wanted = append(wanted, value)
	}
	if len(wanted) == 0 {
		return p.result
	}
	edited := p.apply()
	after, err := parse(edited)
	if err != nil || !same(documents, after) {
		return Result{Problem: "the edited file would differ in more than the marked values. This is a bug in Yuba", Unknown: p.result.Unknown}
	}
	p.result.Content = edited
	return p.result
}

// maxDocuments limits the documents of one file.
const maxDocuments = 10_000

// parse reads all documents. The library panics on some damaged input.
func parse(content []byte) (documents []*yaml.Node, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the parser cannot read it")
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for len(documents) < maxDocuments {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, errors.New(strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "yaml: "))
		}
		documents = append(documents, &document)
	}
	return nil, fmt.Errorf("it has more than %d documents", maxDocuments)
}

// scalarsOf returns the marked values below a node. It does not follow aliases.
func scalarsOf(node *yaml.Node, object Object) (found []scalar) {
	if node.Kind == yaml.ScalarNode {
		if setter, ok := marked(node.LineComment); ok {
			return []scalar{{node, setter, object}}
		}
		return nil
	}
	if node.Kind == yaml.AliasNode {
		return nil
	}
	for _, child := range node.Content {
		found = append(found, scalarsOf(child, object)...)
	}
	return found
}

// objectOf identifies a document.
func objectOf(document *yaml.Node) (o Object) {
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		return o
	}
	text := func(of *yaml.Node, key string) string {
		if value := entry(of, key); value != nil && value.Kind == yaml.ScalarNode {
			return value.Value
		}
		return ""
	}
	root := document.Content[0]
	o.APIVersion, o.Kind = text(root, "apiVersion"), text(root, "kind")
	if metadata := entry(root, "metadata"); metadata != nil {
		o.Namespace, o.Name = text(metadata, "namespace"), text(metadata, "name")
	}
	return o
}

func entry(mapping *yaml.Node, key string) *yaml.Node {
	if mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// linesOf returns where the lines begin that YAML counts.
func linesOf(content []byte) []int {
	starts := []int{0}
	for i := 0; i < len(content); {
		r, size := utf8.DecodeRune(content[i:])
		i += size
		switch r {
		case '\r':
			if i < len(content) && content[i] == '\n' {
				i++
			}
			starts = append(starts, i)
		case '\n', '\u0085', '\u2028', '\u2029':
			starts = append(starts, i)
		}
	}
	return starts
}

// locate returns the bytes of a value. ok is false unless they are exactly the value, as it is written
// on one line.
func locate(content []byte, lines []int, node *yaml.Node) (start, end int, ok bool) {
	if node.Line < 1 || node.Line > len(lines) {
		return 0, 0, false
	}
	at, stop := lines[node.Line-1], len(content)
	if node.Line < len(lines) {
		stop = lines[node.Line]
	}
	for range node.Column - 1 { // columns count characters
		_, size := utf8.DecodeRune(content[at:stop])
		at += size
	}
	line := string(content[at:stop])
	// An anchor or a tag precedes the value.
	for strings.HasPrefix(line, "&") || strings.HasPrefix(line, "!") {
		word := strings.IndexAny(line, " \t")
		if word < 0 {
			return 0, 0, false
		}
		rest := strings.TrimLeft(line[word:], " \t")
		at, line = at+len(line)-len(rest), rest
	}
	written := 0
	switch node.Style &^ yaml.TaggedStyle {
	case yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle:
		// Values with escapes are written otherwise: they are not simple.
		if len(line) < 2 || !strings.HasPrefix(line[1:], node.Value) || len(line) < len(node.Value)+2 || line[len(node.Value)+1] != line[0] || line[0] != '"' && line[0] != '\'' {
			return 0, 0, false
		}
		written = len(node.Value) + 2
	case 0:
		if node.Value == "" || !strings.HasPrefix(line, node.Value) {
			return 0, 0, false
		}
		written = len(node.Value)
	default:
		return 0, 0, false
	}
	// Only the marker follows.
	if rest := strings.TrimLeft(line[written:], " \t,]}"); !strings.HasPrefix(rest, "#") {
		return 0, 0, false
	}
	return at, at + written, true
}

// quoted writes a value in the style of the one before. Values need no escapes, and a plain one is
// quoted if it would not be a text.
func quoted(style yaml.Style, value string) string {
	switch {
	case style&yaml.DoubleQuotedStyle != 0:
		return `"` + value + `"`
	case style&yaml.SingleQuotedStyle != 0:
		return "'" + value + "'"
	case !plain(value):
		return `"` + value + `"`
	}
	return value
}

// olderNumber matches numbers of YAML 1.1 that are texts in 1.2, such as 1_000 and 12:30.
var olderNumber = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])*(\.[0-9_]*)?$`)

// plain reports whether a value is a text without quotes, for every reader of YAML.
func plain(value string) bool {
	var node yaml.Node
	if yaml.Unmarshal([]byte(value), &node) != nil || len(node.Content) != 1 {
		return false
	}
	one := node.Content[0]
	if one.Kind != yaml.ScalarNode || one.Tag != "!!str" || one.Value != value || strings.HasSuffix(value, ":") {
		return false
	}
	// Older readers take these for numbers and booleans.
	switch strings.ToLower(value) {
	case "y", "n", "yes", "no", "on", "off":
		return false
	}
	return !olderNumber.MatchString(value)
}

// same reports whether documents are equal but for their positions.
func same(a, b []*yaml.Node) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func equal(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || a.Anchor != b.Anchor || a.ShortTag() != b.ShortTag() || a.LineComment != b.LineComment ||
		a.HeadComment != b.HeadComment || a.FootComment != b.FootComment || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !equal(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
