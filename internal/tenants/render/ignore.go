// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// step is one step of a path: a key, an index, or all entries.
type step struct {
	key   string
	index int
	kind  stepKind
}

type stepKind int

const (
	stepKey stepKind = iota
	stepIndex
	stepAll
)

// maxSteps limits the depth of paths; no kind is as deep.
const maxSteps = 64

// parsePath parses field paths in JSONPath: $.a.b, ['a'], [0] and [*]. The dollar is optional.
func parsePath(text string) ([]step, error) {
	rest := strings.TrimPrefix(strings.TrimSpace(text), "$")
	var steps []step
	for rest != "" {
		s, left, err := parseStep(rest, len(steps) == 0)
		if err != nil {
			return nil, fmt.Errorf("ignoreFields %q: %w", text, err)
		}
		steps, rest = append(steps, s), left
		if len(steps) > maxSteps {
			return nil, fmt.Errorf("ignoreFields %q: it has more than %d steps", text, maxSteps)
		}
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("ignoreFields %q: it does not name a field; use a path such as $.spec.replicas", text)
	}
	return steps, nil
}

func parseStep(rest string, first bool) (step, string, error) {
	switch {
	case strings.HasPrefix(rest, ".."):
		return step{}, "", errors.New("descending with .. is not supported: name each field")
	case rest[0] == '[':
		return parseBracket(rest)
	case rest[0] == '.':
		rest = rest[1:]
	case !first:
		return step{}, "", fmt.Errorf("expected . or [ before %q", rest)
	}
	end := strings.IndexAny(rest, ".[")
	if end < 0 {
		end = len(rest)
	}
	switch key := rest[:end]; key {
	case "":
		return step{}, "", errors.New("a name is missing")
	case "*":
		return step{kind: stepAll}, rest[end:], nil
	default:
		return step{key: key}, rest[end:], nil
	}
}

func parseBracket(rest string) (step, string, error) {
	if len(rest) > 1 && (rest[1] == '\'' || rest[1] == '"') {
		end := strings.Index(rest[2:], string(rest[1])+"]")
		if end < 0 {
			return step{}, "", errors.New("a quoted name does not end")
		}
		return step{key: rest[2 : 2+end]}, rest[2+end+2:], nil
	}
	end := strings.IndexByte(rest, ']')
	if end < 0 {
		return step{}, "", errors.New("a [ is not closed")
	}
	inner := rest[1:end]
	if inner == "*" {
		return step{kind: stepAll}, rest[end+1:], nil
	}
	n, err := strconv.Atoi(inner)
	if err != nil || n < 0 {
		return step{}, "", fmt.Errorf("[%s] is neither an index, nor a quoted name, nor *", inner)
	}
	return step{kind: stepIndex, index: n}, rest[end+1:], nil
}

// CheckIgnored returns an error for an invalid path of ignoreFields.
func CheckIgnored(path string) error {
	_, err := parsePath(path)
	return err
}

// WithIgnored returns a copy of a manifest with the live values of ignored fields, so that applying
// it neither changes nor removes them.
func WithIgnored(manifest, live *unstructured.Unstructured, paths []string) (*unstructured.Unstructured, error) {
	out := manifest.DeepCopy()
	for _, text := range paths {
		steps, err := parsePath(text)
		if err != nil {
			return nil, err
		}
		out.Object, _ = takeOver(out.Object, live.Object, steps).(map[string]any)
	}
	if out.Object == nil || out.GetName() != manifest.GetName() || out.GroupVersionKind() != manifest.GroupVersionKind() {
		return nil, fmt.Errorf("ignoreFields %q: the kind and the name of an object cannot be ignored", paths)
	}
	return out, nil
}

// gone is a missing field.
type gone struct{}

// takeOver returns the wanted value with the live values at the path.
func takeOver(wanted, live any, steps []step) any {
	if len(steps) == 0 {
		if live == nil {
			return gone{}
		}
		return runtime.DeepCopyJSONValue(live)
	}
	switch w := wanted.(type) {
	case map[string]any:
		l, _ := live.(map[string]any)
		return takeOverMap(w, l, steps)
	case []any:
		l, _ := live.([]any)
		for i := range w {
			if steps[0].kind == stepAll || steps[0].kind == stepIndex && steps[0].index == i {
				var there any
				if i < len(l) {
					there = l[i]
				}
				// Never remove an entry of a list: the indices of later ones would change.
				v := takeOver(w[i], there, steps[1:])
				if _, none := v.(gone); !none {
					w[i] = v
				}
			}
		}
		return w
	case nil:
		// Applying a manifest without the field leaves it to others.
		return gone{}
	}
	return wanted
}

func takeOverMap(wanted, live map[string]any, steps []step) map[string]any {
	set := func(key string) {
		there, is := wanted[key]
		if !is {
			return // fields outside of the manifest stay unchanged anyway
		}
		v := takeOver(there, live[key], steps[1:])
		if _, none := v.(gone); none {
			delete(wanted, key)
			return
		}
		wanted[key] = v
	}
	switch steps[0].kind {
	case stepKey:
		set(steps[0].key)
	case stepAll:
		for key := range wanted {
			set(key)
		}
	}
	return wanted
}
