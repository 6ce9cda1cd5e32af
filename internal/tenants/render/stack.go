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

// ownTemplates are the fields of a stack that it renders itself, with values that are there when it
// runs. Its marks are ${{ and }}, which would be those of tenants' templates behind a dollar sign.
var ownTemplates = []string{fieldValues, "healthChecks", "webhooks"}

const (
	// ownLeft begins a stack's own template.
	ownLeft = "${{"
	// ownText is a template of a stack that gives what would begin one.
	ownText = `${{ "${{" }}`

	fieldValues = "values"
)

// stackManifest renders the manifest of a stack. What begins the stack's own templates is out of
// sight meanwhile: of what is there afterwards, all else came out of a row or of a function, and
// becomes text for the stack, too. Who writes a column must not write templates that read the
// Secrets of a stack.
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
			Reason: "it would become a program: an object with the one key hcl is one, and what a row says must not be; write values.hcl in the template, or give the values other names"}
	}
	return inOwn(rendered, func(text string) string { return show(strings.ReplaceAll(text, ownLeft, ownText)) }, show), nil
}

// markOf stands for what begins a stack's own templates. It is a hash of everything that the row
// says, so that no row can say it.
func markOf(data map[string]any) string {
	hash := sha256.New()
	for _, name := range sorted(data) {
		fmt.Fprintf(hash, "%q=%q;", name, data[name])
	}
	return "yuba:" + hex.EncodeToString(hash.Sum(nil)) + ":"
}

// inOwn changes the texts in the fields that a stack renders itself. A program in values is none of
// them, and is changed in a way of its own, if any.
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

// valuesOf is what a stack has as spec.values; nil when it has none.
func valuesOf(object map[string]any) any {
	spec, _ := object["spec"].(map[string]any)
	return spec[fieldValues]
}

// isProgram reports whether values are a program: an object with the one key hcl, which is text.
func isProgram(values any) bool {
	all, ok := values.(map[string]any)
	_, text := all["hcl"].(string)
	return ok && text && len(all) == 1
}

// changed is a value with other texts, names of its objects among them.
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
