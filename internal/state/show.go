// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// masked stands where a sensitive value is.
const masked = "(sensitive value)"

// Show writes the resource as `tofu state show` does, roughly: attributes by name, sensitive values masked, nothing
// that a terminal would obey.
func (r Resource) Show(w io.Writer) error {
	decoder := json.NewDecoder(bytes.NewReader(r.Attributes))
	decoder.UseNumber()
	attributes := map[string]any{}
	if len(r.Attributes) > 0 {
		if err := decoder.Decode(&attributes); err != nil {
			return fmt.Errorf("show %s: %w", r.Address, withoutContent(err))
		}
	}
	block := "resource"
	if r.Mode == "data" {
		block = "data"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s:", r.Address)
	if r.Deposed != "" {
		fmt.Fprintf(&b, " (deposed object %s)", r.Deposed)
	}
	if r.Tainted {
		b.WriteString(" (tainted)")
	}
	fmt.Fprintf(&b, "\n%s %s %s ", block, quote(r.Type), quote(r.Name))
	maps.DeleteFunc(attributes, func(_ string, value any) bool { return value == nil })
	showValue(&b, attributes, r.SensitivePaths, "")
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// showValue writes a value; paths are those of sensitive values below it.
func showValue(b *strings.Builder, value any, paths [][]string, indent string) {
	if slices.ContainsFunc(paths, func(path []string) bool { return len(path) == 0 }) {
		b.WriteString(masked)
		return
	}
	switch v := value.(type) {
	case map[string]any:
		showObject(b, v, paths, indent)
	case []any:
		showList(b, v, paths, indent)
	case string:
		b.WriteString(quote(v))
	case nil:
		b.WriteString("null")
	default: // numbers and booleans
		fmt.Fprint(b, v)
	}
}

func showObject(b *strings.Builder, object map[string]any, paths [][]string, indent string) {
	if len(object) == 0 {
		b.WriteString("{}")
		return
	}
	width := 0
	for name := range object {
		width = max(width, len(showName(name)))
	}
	b.WriteString("{\n")
	for _, name := range slices.Sorted(maps.Keys(object)) {
		fmt.Fprintf(b, "%s    %-*s = ", indent, width, showName(name))
		showValue(b, object[name], below(paths, name), indent+"    ")
		b.WriteByte('\n')
	}
	b.WriteString(indent + "}")
}

func showList(b *strings.Builder, list []any, paths [][]string, indent string) {
	if len(list) == 0 {
		b.WriteString("[]")
		return
	}
	b.WriteString("[\n")
	for i, value := range list {
		b.WriteString(indent + "    ")
		showValue(b, value, below(paths, strconv.Itoa(i)), indent+"    ")
		b.WriteString(",\n")
	}
	b.WriteString(indent + "]")
}

// showName quotes a name that is not an identifier.
func showName(name string) string {
	for i, c := range name {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return quote(name)
		}
	}
	if name == "" {
		return quote(name)
	}
	return name
}

// below returns what is left of the paths that go through a step.
func below(paths [][]string, step string) [][]string {
	var rest [][]string
	for _, path := range paths {
		if path[0] == step {
			rest = append(rest, path[1:])
		}
	}
	return rest
}
