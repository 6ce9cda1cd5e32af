// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// ownTemplates are fields that a stack renders itself, at run time. Its placeholders ${{ }} look
// like a tenant's template after a dollar sign.
var ownTemplates = []string{fieldValues, "healthChecks", "webhooks"}

const (
	// ownLeft begins a stack's own template.
	ownLeft = "${{"
	// ownText is a stack template that results in ownLeft.
	ownText = `${{ "${{" }}`

	fieldValues = "values"
)

// stackManifest renders a stack's manifest. It hides ${{ of the template's author while rendering,
// then escapes all others: values of the row must not become stack templates, which can read
// Secrets.
func stackManifest(d template.Dialect, data map[string]any, where string, object map[string]any, textOnly func([]string) bool) (any, error) {
	mark := markOf(data)
	hide := func(text string) string { return strings.ReplaceAll(text, ownLeft, mark) }
	show := func(text string) string { return strings.ReplaceAll(text, mark, ownLeft) }
	value, err := d.Value(where, inOwn(object, hide, nil), data, textOnly)
	var wrong *template.Error
	if errors.As(err, &wrong) {
		shown := *wrong
		shown.Where, shown.Reason = show(wrong.Where), show(wrong.Reason)
		return nil, &shown
	}
	if err != nil {
		return nil, err
	}
	rendered, ok := value.(map[string]any)
	if !ok {
		return value, nil
	}
	if isProgram(valuesOf(rendered)) && !isProgram(valuesOf(object)) {
		return nil, &template.Error{Where: where + ".spec." + fieldValues, Data: true,
			Reason: "it would become a program: values with the single key hcl are one, and a row must not contain programs; write values.hcl in the template, or rename the key"}
	}
	return inOwn(rendered, func(text string) string { return show(strings.ReplaceAll(text, ownLeft, ownText)) }, show), nil
}

// markOf replaces ${{ meanwhile. It is a hash of the row, so that the row cannot contain it.
func markOf(data map[string]any) string {
	hash := sha256.New()
	for _, name := range sorted(data) {
		fmt.Fprintf(hash, "%q=%q;", name, data[name])
	}
	return "yuba:" + hex.EncodeToString(hash.Sum(nil)) + ":"
}

// inOwn changes the texts in ownTemplates. A program in values is changed differently, if at all.
func inOwn(object map[string]any, change, program func(string) string) map[string]any {
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		return object
	}
	spec = maps.Clone(spec)
	for _, field := range ownTemplates {
		switch value, there := spec[field]; {
		case !there:
		case field != fieldValues || !isProgram(value):
			spec[field] = changed(value, change)
		case program != nil:
			spec[field] = changed(value, program)
		}
	}
	object = maps.Clone(object)
	object["spec"] = spec
	return object
}

// valuesOf returns the stack's spec.values, or nil.
func valuesOf(object map[string]any) any {
	spec, _ := object["spec"].(map[string]any)
	return spec[fieldValues]
}

// isProgram reports whether values contain only hcl, as text.
func isProgram(values any) bool {
	all, ok := values.(map[string]any)
	_, text := all["hcl"].(string)
	return ok && text && len(all) == 1
}

// changed returns a value with changed texts, keys included.
func changed(value any, change func(string) string) any {
	switch v := value.(type) {
	case string:
		return change(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = changed(item, change)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range sorted(v) {
			out[change(name)] = changed(v[name], change)
		}
		return out
	}
	return value
}
