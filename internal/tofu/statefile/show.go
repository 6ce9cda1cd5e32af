// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// masked replaces a sensitive value.
const masked = "(sensitive value)"

// Show writes the resource roughly as `tofu state show` does: attributes by name, sensitive values
// masked, control characters escaped.
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
	p := printer{Builder: &b}
	p.collect(attributes, r.SensitivePaths)
	if ends(r.SensitivePaths) {
		b.WriteString(masked)
	} else {
		p.object(attributes, r.SensitivePaths, "")
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// printer writes values and masks sensitive ones.
type printer struct {
	*strings.Builder
	// secrets are the strings at sensitive paths. Providers copy them elsewhere (terraform_data
	// copies its input to its output), so they are masked everywhere.
	secrets []string
}

// shortSecret is the length up to which a secret is masked only as a whole value: shorter ones
// occur in every word.
const shortSecret = 3

// collect collects the strings at sensitive paths.
func (p *printer) collect(value any, paths [][]string) {
	sensitive := ends(paths)
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			p.collect(field, p.through(v, name, paths, sensitive))
		}
	case []any:
		for i, element := range v {
			p.collect(element, p.through(nil, strconv.Itoa(i), paths, sensitive))
		}
	case string:
		if sensitive && v != "" {
			p.secrets = append(p.secrets, v)
		}
	}
}

// through returns the paths below one step; everything below a sensitive value is sensitive.
func (p *printer) through(object map[string]any, step string, paths [][]string, sensitive bool) [][]string {
	if sensitive {
		return [][]string{{}}
	}
	rest := below(paths, step)
	if step == "value" && dynamic(object) {
		rest = append(rest, paths...)
	}
	return rest
}

// ends reports whether a path ends here.
func ends(paths [][]string) bool {
	return slices.ContainsFunc(paths, func(path []string) bool { return len(path) == 0 })
}

// dynamic recognises a value with its type, for attributes of dynamic type: the state has {"value":
// …, "type": …} there, which paths do not include.
func dynamic(object map[string]any) bool {
	kind, err := json.Marshal(object["type"])
	if _, ok := object["value"]; !ok || err != nil || len(object) != 2 {
		return false
	}
	_, err = ctyjson.UnmarshalType(kind)
	return err == nil
}

func (p *printer) hides(text string) bool {
	return slices.ContainsFunc(p.secrets, func(secret string) bool {
		return text == secret || len(secret) > shortSecret && strings.Contains(text, secret)
	})
}

// value writes a value; paths are the sensitive paths below it.
func (p *printer) value(value any, paths [][]string, indent string) {
	if ends(paths) {
		p.WriteString(masked)
		return
	}
	switch v := value.(type) {
	case map[string]any:
		if dynamic(v) {
			p.value(v["value"], p.through(v, "value", paths, false), indent)
			return
		}
		p.object(v, paths, indent)
	case []any:
		p.list(v, paths, indent)
	case string:
		if p.hides(v) {
			v = masked
		} else {
			v = quote(v)
		}
		p.WriteString(v)
	case nil:
		p.WriteString("null")
	default: // numbers and booleans
		fmt.Fprint(p, v)
	}
}

func (p *printer) object(object map[string]any, paths [][]string, indent string) {
	if len(object) == 0 {
		p.WriteString("{}")
		return
	}
	width := 0
	for name := range object {
		width = max(width, len(p.name(name)))
	}
	p.WriteString("{\n")
	for _, name := range slices.Sorted(maps.Keys(object)) {
		fmt.Fprintf(p, "%s    %-*s = ", indent, width, p.name(name))
		p.value(object[name], below(paths, name), indent+"    ")
		p.WriteByte('\n')
	}
	p.WriteString(indent + "}")
}

func (p *printer) list(list []any, paths [][]string, indent string) {
	if len(list) == 0 {
		p.WriteString("[]")
		return
	}
	p.WriteString("[\n")
	for i, value := range list {
		p.WriteString(indent + "    ")
		p.value(value, below(paths, strconv.Itoa(i)), indent+"    ")
		p.WriteString(",\n")
	}
	p.WriteString(indent + "]")
}

// name quotes a name that is not an identifier.
func (p *printer) name(name string) string {
	if p.hides(name) {
		return masked
	}
	if !hclsyntax.ValidIdentifier(name) {
		return quote(name)
	}
	return name
}

// below returns the rest of the paths through a step.
func below(paths [][]string, step string) [][]string {
	var rest [][]string
	for _, path := range paths {
		if len(path) > 0 && path[0] == step {
			rest = append(rest, path[1:])
		}
	}
	return rest
}
