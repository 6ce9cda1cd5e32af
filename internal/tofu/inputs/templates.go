// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/mask"
)

// typeSuffix is the suffix of the key with the type of another key's value, in Secrets with another
// stack's outputs.
const typeSuffix = "__type"

// templateInputs reads the Secrets for templates. Outputs of another stack keep their types;
// everything else is text.
func (r *resolver) templateInputs(specs []infrav1.ReadInputsFromSecretSpec) map[string]any {
	all := map[string]any{}
	for i, spec := range specs {
		field := fmt.Sprintf("spec.readInputsFromSecrets[%d]", i)
		if spec.As == "" {
			r.problem(field, Reference{}, "", `"as", the name for templates, is missing`)
			continue
		}
		o := r.require(field, kindSecret, spec.Name, false)
		if o == nil {
			continue
		}
		keys := map[string]any{}
		for key, value := range o.data {
			if strings.HasSuffix(key, typeSuffix) {
				continue
			}
			keys[key] = r.typed(field, o, key, value)
		}
		all[spec.As] = keys
	}
	return all
}

// typed returns the value of a key for templates.
func (r *resolver) typed(field string, o *object, key string, value []byte) any {
	if _, structured := o.data[key+typeSuffix]; !structured {
		if !utf8.Valid(value) { // perhaps the other keys are meant
			return nil
		}
		return string(value)
	}
	var parsed any
	if err := json.Unmarshal(value, &parsed); err != nil {
		r.problem(field, o.ref, key, "the value of key %q is not JSON, although the key %q exists", key, key+typeSuffix)
		return nil
	}
	return parsed
}

// templateProblem reports an error of a template. A message composed by the template may contain
// its data.
func (r *resolver) templateProblem(err error, data map[string]any) {
	secrets := mask.New()
	for _, secret := range texts(data, nil) {
		secrets.Add(secret)
	}
	text := secrets.Masker(Mask).Text(err.Error())
	part := r.part
	r.part = PartTemplate
	field, reason, ok := strings.Cut(text, ": ")
	if !ok {
		field, reason = "spec.values", text
	}
	r.problem(field, Reference{}, "", "%s", reason)
	if len(data) > 0 {
		r.passing()
	}
	r.part = part
}

// closed returns the templates' data without the parts that are known not to be secret.
func (r *resolver) closed(specs []infrav1.ReadInputsFromSecretSpec, data map[string]any) map[string]any {
	out := map[string]any{}
	for _, spec := range specs {
		o := r.objects[Reference{Kind: kindSecret, Namespace: r.namespace, Name: spec.Name}]
		keys, _ := data[spec.As].(map[string]any)
		some := map[string]any{}
		for key, value := range keys {
			if o == nil || !o.isOpen(key) {
				some[key] = value
			}
		}
		if len(some) > 0 {
			out[spec.As] = some
		}
	}
	return out
}

// shortestInserted is the length from which a text can be traced to a Secret.
const shortestInserted = 4

// inserted returns the secret texts among the rendered ones, and the parts of rendered texts that
// come from closed data.
func inserted(rendered, secret []string, closed map[string]any) []Value {
	if len(closed) == 0 {
		return nil // nothing came from a Secret
	}
	var out []Value
	seen := map[string]bool{}
	add := func(text string) {
		if len(text) >= shortestInserted && !seen[text] {
			seen[text] = true
			out = append(out, NewValue(text))
		}
	}
	for _, text := range secret {
		add(text)
	}
	candidates := texts(closed, nil)
	for _, text := range rendered {
		for _, secret := range candidates {
			if strings.Contains(text, secret) {
				add(secret)
			}
		}
	}
	return out
}

// texts returns the strings in a document.
func texts(value any, found []string) []string {
	switch v := value.(type) {
	case string:
		found = append(found, v)
	case []any:
		for _, item := range v {
			found = texts(item, found)
		}
	case map[string]any:
		for _, item := range v {
			found = texts(item, found)
		}
	}
	return found
}

// TemplateData returns the data of main.tf.tpl: the variables by name and, as in Helm, the values
// as .Values.
func (in *Inputs) TemplateData() (map[string]any, error) {
	data := map[string]any{}
	for name, v := range in.Variables {
		var value any
		if err := json.Unmarshal(v.JSON, &value); err != nil {
			return nil, fmt.Errorf("variable %q is not valid JSON", name)
		}
		data[name] = value
	}
	data["Values"] = data["values"]
	return data, nil
}
