// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// Content is what a Secret is to have.
type Content struct {
	Type                string
	Data                map[string][]byte
	Labels, Annotations map[string]string
}

// Loaded are the templates of one entry of templateFrom, by key.
type Loaded map[string]string

// Language is the language of templates: Go's, with functions of sprig and for YAML. All templates of an
// ExternalSecret share one, which has one budget.
type Language struct{ dialect template.Dialect }

// NewLanguage returns the language for the templates of one ExternalSecret.
func NewLanguage() Language {
	return Language{template.Dialect{Left: "{{", Purse: template.NewPurse(4), Functions: map[string]any{
		"toYaml": func(value any) (string, error) {
			out, err := yaml.Marshal(value)
			if err != nil {
				return "", template.Refuse("toYaml: the value cannot be written as YAML")
			}
			return strings.TrimSuffix(string(out), "\n"), nil
		},
		"fromYaml": func(text string) (map[string]any, error) {
			out := map[string]any{}
			if yaml.Unmarshal([]byte(text), &out) != nil {
				return nil, template.Refuse("fromYaml: the text is not a YAML object")
			}
			return out, nil
		},
		// Its message may contain values.
		"fail": func(string) (string, error) { return "", template.Refuse("the template calls fail") },
	}}}
}

// Render makes the content of a Secret of the values of stores, and of templates. loaded has the templates of each
// entry of templateFrom that names an object.
func Render(l Language, t *externalv1.ExternalSecretTemplate, loaded []Loaded, data map[string][]byte) (*Content, error) {
	c := &Content{Data: data, Labels: map[string]string{}, Annotations: map[string]string{}}
	if t == nil {
		return c, nil
	}
	c.Type = t.Type
	r := &renderer{l.dialect, map[string]any{}, c}
	for key, value := range data {
		r.values[key] = string(value)
	}
	if len(t.Data) > 0 || len(t.TemplateFrom) > 0 {
		c.Data = map[string][]byte{}
		if t.MergePolicy == externalv1.TemplateMerge {
			c.Data = maps.Clone(data)
		}
	}
	for i, from := range t.TemplateFrom {
		if err := r.from(fmt.Sprintf("templateFrom[%d]", i), from, loaded[i]); err != nil {
			return nil, err
		}
	}
	for target, templates := range map[string]map[string]string{externalv1.TargetData: t.Data, externalv1.TargetLabels: t.Metadata.Labels, externalv1.TargetAnnotations: t.Metadata.Annotations} {
		for _, key := range slices.Sorted(maps.Keys(templates)) {
			if err := r.value(target, strings.ToLower(target)+"."+key, key, templates[key]); err != nil {
				return nil, err
			}
		}
	}
	return c, Check(c.Data)
}

type renderer struct {
	template.Dialect
	values map[string]any
	out    *Content
}

func (r *renderer) from(where string, from externalv1.TemplateFrom, loaded Loaded) error {
	if from.Literal != nil {
		if err := r.object(from.Target, where+".literal", *from.Literal); err != nil {
			return err
		}
	}
	for _, ref := range []*externalv1.TemplateRef{from.ConfigMap, from.Secret} {
		if ref == nil {
			continue
		}
		for _, item := range ref.Items {
			at := where + " " + ref.Name + "." + item.Key
			text, ok := loaded[item.Key]
			if !ok {
				return fmt.Errorf("%s: there is no such key", at)
			}
			render := func() error { return r.value(from.Target, at, item.Key, text) }
			if item.TemplateAs == externalv1.ScopeKeysAndValues {
				render = func() error { return r.object(from.Target, at, text) }
			}
			if err := render(); err != nil {
				return err
			}
		}
	}
	return nil
}

// value renders a template of one value.
func (r *renderer) value(target, where, key, text string) error {
	out, err := r.Text(where, text, r.values)
	if err != nil {
		return err
	}
	r.put(target, key, out)
	return nil
}

// object renders a template whose result is YAML.
func (r *renderer) object(target, where, text string) error {
	out, err := r.Text(where, text, r.values)
	if err != nil {
		return err
	}
	var object map[string]any
	if yaml.Unmarshal([]byte(out), &object) != nil {
		return fmt.Errorf("%s: its result is not YAML with keys and values", where)
	}
	for key, value := range object {
		switch value.(type) {
		case map[string]any, []any, nil:
			return fmt.Errorf("%s: the value of %s is not a text. Quote it, or use toJson", where, key)
		}
		r.put(target, key, fmt.Sprint(value))
	}
	return nil
}

func (r *renderer) put(target, key, value string) {
	switch target {
	case externalv1.TargetLabels:
		r.out.Labels[key] = value
	case externalv1.TargetAnnotations:
		r.out.Annotations[key] = value
	default:
		r.out.Data[key] = []byte(value)
	}
}
