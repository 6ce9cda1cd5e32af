// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// explain replaces an error of kustomize, which lacks lines and quotes objects, even Secrets. Its
// text without quotes is the last resort.
func (l *look) explain(err error) error {
	if err == nil {
		return nil
	}
	if l.t.failure != nil {
		return l.t.failure
	}
	first := map[string]string{}
	for _, file := range l.files {
		data, readErr := l.t.ReadFile(file)
		if readErr != nil {
			return readErr
		}
		found, invalid := l.objectsIn(file, data)
		if invalid != nil {
			return invalid
		}
		for _, object := range found {
			if other, twice := first[object.id()]; twice && strings.Contains(err.Error(), "already registered id") {
				return twiceError(object.String(), other, object.at())
			}
			first[object.id()] = object.at()
		}
	}
	return errors.New("kustomize build failed: " + l.cause(err))
}

// cause returns an error of kustomize without its quotes.
func (l *look) cause(err error) string {
	return strings.TrimRight(shorten.CutBytes(withoutQuotes(l.t.clean(err.Error())), 500), " :'")
}

var (
	// configured matches the error of a plugin, which quotes its configuration before the cause.
	configured = regexp.MustCompile("(?s)^(trouble configuring builtin \\S+) with config: `\n.*\n`(: .*)$")
	// literal matches the error about a literal of a generator, which may be a password.
	literal = regexp.MustCompile(`(?s)literal sources? \[.*$`)
	// yamlErrors matches the YAML parser's errors, which quote values in backquotes.
	yamlErrors = regexp.MustCompile(`(?m)^  (line \d+: .*)$`)
	backquoted = regexp.MustCompile("`[^`]*`")
)

// withoutQuotes removes quoted objects and configurations from an error of kustomize.
func withoutQuotes(text string) string {
	if m := configured.FindStringSubmatch(text); m != nil {
		text = m[1] + m[2]
	}
	text = literal.ReplaceAllString(text, "a literal is not KEY=VALUE")
	first, rest, _ := strings.Cut(text, "\n")
	for _, line := range yamlErrors.FindAllStringSubmatch(rest, -1) {
		first += " " + backquoted.ReplaceAllString(line[1], "…")
	}
	text, _, _ = strings.Cut(first, " in object")
	text, _, _ = strings.Cut(text, " from [patch:")
	for _, brackets := range []struct{ open, closed string }{{"&{", "}"}, {"map[", "]"}, {"{", "}"}} {
		begin, end := strings.Index(text, brackets.open), strings.LastIndex(text, brackets.closed)
		switch {
		case begin >= 0 && end > begin:
			text = text[:begin] + "…" + text[end+len(brackets.closed):]
		case begin >= 0:
			text = text[:begin]
		}
	}
	return text
}

// explainFile explains an error in a file of objects.
func (l *look) explainFile(file string, err error) error {
	data, readErr := l.t.ReadFile(file)
	if readErr != nil {
		return readErr
	}
	if _, invalid := l.objectsIn(file, data); invalid != nil {
		return invalid
	}
	return &positioned{file: l.t.name(file), err: errors.New(l.cause(err))}
}

// place is the place of an object in a file.
type place struct {
	file                              string
	line                              int
	apiVersion, kind, namespace, name string
}

func (p place) id() string {
	return strings.Join([]string{p.apiVersion, p.kind, p.namespace, p.name}, "|")
}

func (p place) at() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

func (p place) String() string {
	if p.namespace != "" {
		return p.kind + " " + p.namespace + "/" + p.name
	}
	return p.kind + " " + p.name
}

// objectsIn returns the places of the objects in a file.
func (l *look) objectsIn(file string, data []byte) ([]place, error) {
	name := l.t.name(file)
	parsed, err := documents(data)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	var found []place
	for _, document := range parsed {
		if len(document.Content) != 1 || document.Content[0].ShortTag() == "!!null" {
			continue
		}
		object := document.Content[0]
		if object.Kind != yaml.MappingNode {
			return nil, &positioned{name, object.Line, errors.New("not an object: it needs apiVersion, kind and metadata.name")}
		}
		p, err := placeOf(name, object)
		if err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	return found, nil
}

// placeOf returns the place of an object.
func placeOf(file string, object *yaml.Node) (place, error) {
	var head struct {
		APIVersion string    `yaml:"apiVersion"`
		Kind       string    `yaml:"kind"`
		Items      yaml.Node `yaml:"items"`
		Metadata   struct {
			Name      string `yaml:"name"`
			Namespace string `yaml:"namespace"`
		} `yaml:"metadata"`
	}
	if err := object.Decode(&head); err != nil {
		// The parser's error may quote values. The cause is a repeated key or an unexpected type.
		if twice := repeatedError(file, object); twice != nil {
			return place{}, twice
		}
		return place{}, &positioned{file, object.Line, errors.New("not an object: apiVersion, kind and metadata.name must be strings")}
	}
	p := place{file, object.Line, head.APIVersion, head.Kind, head.Metadata.Namespace, head.Metadata.Name}
	isList := strings.HasSuffix(p.kind, "List") && head.Items.Kind != 0
	switch {
	case p.kind == "":
		return p, &positioned{file, p.line, errors.New("an object without kind")}
	case p.apiVersion == "" && !isList:
		return p, &positioned{file, p.line, fmt.Errorf("%s without apiVersion", diagnostic.WithArticle(p.kind))}
	case p.name == "" && !isList:
		return p, &positioned{file, p.line, fmt.Errorf("%s without metadata.name", diagnostic.WithArticle(p.kind))}
	}
	return p, nil
}

// repeatedIn returns the error about a repeated key, which kustomize detects only when it writes.
func (l *look) repeatedIn(kind, name string) error {
	p, found := l.where(kind, name)
	if !found {
		return nil
	}
	data, err := l.t.ReadFile(filepath.Join(l.t.root, p.file))
	if err != nil {
		return err
	}
	parsed, err := documents(data)
	if err != nil {
		return syntaxError(p.file, err)
	}
	for _, document := range parsed {
		if twice := repeatedError(p.file, document); twice != nil {
			return twice
		}
	}
	return nil
}

func repeatedError(file string, node *yaml.Node) error {
	key, line := repeated(node)
	if key == "" {
		return nil
	}
	return &positioned{file, line, fmt.Errorf("key %q is repeated", key)}
}

// repeated finds a repeated key of a mapping.
func repeated(node *yaml.Node) (string, int) {
	if node.Kind == yaml.MappingNode {
		keys := map[string]bool{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if keys[key.Value] && key.Value != "<<" {
				return key.Value, key.Line
			}
			keys[key.Value] = true
		}
	}
	for _, child := range node.Content {
		if key, line := repeated(child); key != "" {
			return key, line
		}
	}
	return "", 0
}

// where finds the origin of an object, whose namespace and name kustomize may have changed.
func (l *look) where(kind, name string) (place, bool) {
	var longest place
	for _, file := range l.files {
		data, err := l.t.ReadFile(file)
		if err != nil {
			continue
		}
		found, err := l.objectsIn(file, data)
		if err != nil {
			continue
		}
		for _, p := range found {
			if p.kind == kind && strings.Contains(name, p.name) && len(p.name) > len(longest.name) {
				longest = p
			}
		}
	}
	return longest, longest.name != ""
}
