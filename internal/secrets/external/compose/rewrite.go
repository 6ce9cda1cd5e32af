// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
)

// The bounds of rewriting. A key of a Secret has 253 bytes at most, but names in stores are longer until they are
// rewritten: those of Parameter Store have 1011. Without maxKey, each operation could square the length of a key.
const (
	maxKey        = 1024
	maxTarget     = 1024
	maxOperations = 32
)

// Rewrite renames keys, one operation after the other.
func Rewrite(l Language, operations []externalv1.ExternalSecretRewrite, data map[string][]byte) (map[string][]byte, error) {
	if len(operations) > maxOperations {
		return nil, fmt.Errorf("rewrite has %d operations, and may have %d", len(operations), maxOperations)
	}
	for i, operation := range operations {
		var err error
		switch {
		case operation.Regexp != nil:
			data, err = replace(operation.Regexp, data)
		case operation.Transform != nil:
			data, err = transform(l, operation.Transform, data)
		case operation.Merge != nil:
			data, err = merge(operation.Merge, data)
		}
		if err != nil {
			return nil, fmt.Errorf("rewrite[%d]: %w", i, err)
		}
	}
	return data, nil
}

func replace(r *externalv1.ExternalSecretRewriteRegexp, data map[string][]byte) (map[string][]byte, error) {
	pattern, err := regexp.Compile(r.Source)
	if err != nil {
		return nil, fmt.Errorf("source is not a regular expression: %w", err)
	}
	if len(r.Target) > maxTarget {
		return nil, fmt.Errorf("target has %d bytes, and may have %d", len(r.Target), maxTarget)
	}
	return rename(data, func(key string) (string, error) { return pattern.ReplaceAllString(key, r.Target), nil })
}

func transform(l Language, t *externalv1.ExternalSecretRewriteTransform, data map[string][]byte) (map[string][]byte, error) {
	return rename(data, func(key string) (string, error) {
		return l.dialect.Text("template", t.Template, map[string]any{"value": key})
	})
}

// merge merges values that are JSON objects: those of later keys win, and those of priority last.
func merge(m *externalv1.ExternalSecretRewriteMerge, data map[string][]byte) (map[string][]byte, error) {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(data)), func(key string) bool { return slices.Contains(m.Priority, key) })
	merged := map[string]json.RawMessage{}
	for _, key := range append(keys, m.Priority...) {
		value, ok := data[key]
		if !ok && m.PriorityPolicy == "IgnoreNotFound" {
			continue
		}
		if !ok {
			return nil, fmt.Errorf("priority names %q, which the store does not have", key)
		}
		object, err := attributes(value)
		if err != nil {
			return nil, fmt.Errorf("merge %q: %w", key, err)
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if _, twice := merged[name]; twice && m.ConflictPolicy != "Ignore" {
				return nil, fmt.Errorf("several secrets have the attribute %q. Set conflictPolicy to Ignore if priority decides", name)
			}
			merged[name] = object[name]
		}
	}
	if m.Strategy == "JSON" {
		if m.Into == "" {
			return nil, errors.New("the strategy JSON needs into")
		}
		all, err := json.Marshal(merged)
		if err != nil {
			return nil, err
		}
		out := maps.Clone(data)
		out[m.Into] = all
		return out, nil
	}
	out := map[string][]byte{}
	for name, raw := range merged {
		out[name] = text(raw)
	}
	return out, nil
}
