// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"bytes"
	"encoding/json"
)

// Line masks the secrets in a line of a log or a document. A JSON line stays JSON: its strings and
// numbers are masked individually.
func (m *Masker) Line(line []byte) []byte {
	r := m.current()
	if r.idle() || !r.suspects(line) {
		return line
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	var value any
	if !json.Valid(line) || decoder.Decode(&value) != nil { // the decoder stops after a value, whatever follows
		return []byte(r.text(string(line), prose))
	}
	masked, changed := r.outermost(value)
	if !changed {
		return line
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(masked) != nil {
		return []byte(r.text(string(line), prose))
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

// kind is the kind of a string in a document.
type kind int

const (
	// prose: a message, or a line of a program.
	prose kind = iota
	// naming: the name of a resource, a type, an action. Common words stay, because otherwise the
	// line would be incomprehensible.
	naming
	// data: a value of the stack, whatever its field is called.
	data
)

// names are the fields of tofu's documents, and ours, with names; values those with values.
var (
	names = set(`addr address resource_addr module module_address resource_type resource_name resource_key implied_provider provider
		provider_name provider_config_key mode type name action actions reason action_reason id_key key severity filename previous
		previous_address deposed format_version terraform_version version replaces replace_paths relevant_attributes attribute context`)
	values = set(`before after values value outputs default constant_value identity`)
)

// of returns the kind of a field's content.
func (k kind) of(field string) kind {
	switch {
	case k == data || values[field]:
		return data
	case names[field]:
		return naming
	}
	return prose
}

// outermost masks a decoded line. Some top-level fields are the format itself: a secret with the
// value "diagnostic" must not make the line unparseable.
func (r *rules) outermost(value any) (any, bool) {
	object, ok := value.(map[string]any)
	if !ok {
		return r.value(value, prose)
	}
	changed := false
	for field, item := range object {
		switch field {
		case "type", "@level", "@module", "@timestamp":
			continue
		}
		masked, did := r.value(item, prose.of(field))
		object[field], changed = masked, changed || did
	}
	return object, changed
}

func (r *rules) value(value any, k kind) (any, bool) {
	changed := false
	switch v := value.(type) {
	case string:
		masked := r.text(v, k)
		return masked, masked != v
	case json.Number:
		if masked := r.text(v.String(), k); masked != v.String() {
			return masked, true
		}
	case []any:
		for i, item := range v {
			masked, did := r.value(item, k)
			v[i], changed = masked, changed || did
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for field, item := range v {
			masked, did := r.value(item, k.of(field))
			shown := r.text(field, naming)
			out[shown], changed = masked, changed || did || shown != field
		}
		return out, changed
	}
	return value, changed
}
