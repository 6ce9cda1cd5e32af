// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// positioned is an error at a line of a file; 0 if the line is unknown.
type positioned struct {
	file string
	line int
	err  error
}

func (e *positioned) Error() string {
	if e.line == 0 {
		return fmt.Sprintf("%s: %s", e.file, e.err)
	}
	return fmt.Sprintf("%s:%d: %s", e.file, e.line, e.err)
}

func (e *positioned) Unwrap() error { return e.err }

// yamlLine matches the line in the YAML parser's errors.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxError adds the place to an error of the YAML parser. Only its first line does not quote.
func syntaxError(file string, err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	at := &positioned{file: file, err: errors.New("invalid YAML: " + text)}
	if match := yamlLine.FindStringSubmatch(text); match != nil {
		// The parser omits "line 1".
		if at.line, err = strconv.Atoi(match[1]); err != nil {
			at.line = 1
		}
		at.err = errors.New("invalid YAML: " + match[2])
	}
	return at
}

// documents parses a stream of YAML documents.
func documents(data []byte) ([]*yaml.Node, error) {
	var all []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, &document)
	}
}

// nodesIn returns an upper bound of the values: each but the first follows one of these characters.
func nodesIn(data []byte) int {
	n := 1
	for _, c := range data {
		switch c {
		case '\n', ':', ',', '[', '{', '-', '?':
			n++
		}
	}
	return n
}

// mayBeDeep reports whether text may be nested too deeply: by indentation, "- - -" or brackets.
func mayBeDeep(data []byte) bool {
	flow, indent, leading := 0, 0, true
	for _, c := range data {
		switch c {
		case '\n':
			indent, leading = 0, true
			continue
		case '[', '{':
			flow++
		case ']', '}':
			flow = max(flow-1, 0)
		}
		if leading {
			if leading = c == ' ' || c == '-' || c == '?'; leading {
				indent++
			}
		}
		if flow+indent > maxDepth {
			return true
		}
	}
	return false
}

// checkYAML refuses nested aliases and deep nesting. The parser reports invalid YAML.
func checkYAML(file string, data []byte) error {
	_, err := weighYAML(file, data)
	return err
}

// weighYAML is checkYAML, and returns the number of values with resolved aliases.
func weighYAML(file string, data []byte) (total int, err error) {
	n := nodesIn(data)
	if n > maxFileNodes {
		return n, &LimitError{Subject: file, Limit: fmt.Sprintf("%d values in one file", maxFileNodes)}
	}
	if !hasAliases(data) && !mayBeDeep(data) {
		return n, nil
	}
	parsed, err := documents(data)
	if err != nil {
		return n, nil //nolint:nilerr // its parser will report it
	}
	for _, document := range parsed {
		w := weigher{file: file, weights: map[*yaml.Node]int{}}
		weight, err := w.weigh(document, 0)
		if err != nil {
			return total, err
		}
		if total += weight; total > maxFileNodes {
			return total, &LimitError{Subject: file, Limit: fmt.Sprintf("%d values in one file, those that aliases repeat among them,", maxFileNodes)}
		}
	}
	return max(n, total), nil
}

// weigher counts values with resolved aliases.
type weigher struct {
	file string
	// weights are the known weights; 0 during the calculation.
	weights map[*yaml.Node]int
}

func (w *weigher) weigh(node *yaml.Node, depth int) (int, error) {
	if depth > maxDepth {
		return 0, &positioned{w.file, node.Line, fmt.Errorf("nested deeper than %d levels", maxDepth)}
	}
	if node.Kind == yaml.AliasNode {
		return w.weigh(node.Alias, depth)
	}
	weight, known := w.weights[node]
	switch {
	case known && weight == 0:
		return 0, &positioned{w.file, node.Line, errors.New("an alias that contains itself")}
	case known:
		return weight, nil
	}
	w.weights[node] = 0
	// Long texts count more: aliases repeat all their bytes.
	weight = 1 + len(node.Value)/256
	for _, child := range node.Content {
		n, err := w.weigh(child, depth+1)
		if err != nil {
			return 0, err
		}
		if weight += n; weight > maxFileNodes {
			return 0, &LimitError{Subject: w.file, Limit: fmt.Sprintf("%d values in one file, those that aliases repeat among them,", maxFileNodes)}
		}
	}
	w.weights[node] = weight
	return weight, nil
}

// texts calls visit with every text of several lines: patches and configurations are such texts.
func texts(node *yaml.Node, visit func(*yaml.Node) error) error {
	if node.Kind == yaml.ScalarNode && strings.Contains(node.Value, "\n") {
		return visit(node)
	}
	for _, child := range node.Content {
		if err := texts(child, visit); err != nil {
			return err
		}
	}
	return nil
}

// checkKustomization is checkYAML for a kustomization file and the YAML in its texts.
func checkKustomization(file string, data []byte) error {
	if err := checkYAML(file, data); err != nil {
		return err
	}
	parsed, err := documents(data)
	if err != nil {
		return syntaxError(file, err)
	}
	for _, document := range parsed {
		err := texts(document, func(text *yaml.Node) error {
			return checkYAML(fmt.Sprintf("%s:%d", file, text.Line), []byte(text.Value))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
