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

// positioned is an error at a line of a file; line is 0 when it is not known.
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

// yamlLine finds the line in the YAML parser's errors.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxError makes an error of the YAML parser one that says where. Only its first line is taken: others may quote.
func syntaxError(file string, err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	at := &positioned{file: file, err: errors.New("invalid YAML: " + text)}
	if match := yamlLine.FindStringSubmatch(text); match != nil {
		// The parser does not say "line 1".
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

// nodesIn is at least how many values the text can have: every value but the first stands behind one of these.
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

// mayBeDeep tells whether text may be nested deeper than allowed: by indentation, by "- - -" or by brackets.
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

// checkYAML refuses text that is small and becomes large: by aliases that repeat aliases, and by depth. What is not YAML
// passes: who parses it says so.
func checkYAML(file string, data []byte) error {
	_, err := weighYAML(file, data)
	return err
}

// weighYAML is checkYAML, and tells how many values the text has once aliases are replaced by what they repeat.
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
		return n, nil //nolint:nilerr // who parses it says so
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

// weigher counts values as they are once aliases are replaced by what they repeat.
type weigher struct {
	file string
	// weights has those that are known; 0 while one is being weighed.
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
	// Long texts count more: a repeated one is repeated with all its bytes.
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

// texts calls visit with every text in a document that has more than one line: kustomizations hold patches and
// configurations that way.
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

// checkKustomization is checkYAML for a kustomization file, the YAML in its texts too.
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
