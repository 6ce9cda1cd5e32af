// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

// helmDecides are the fields of a release that the definition's other fields and the instance decide.
var helmDecides = []string{"chart", "chartRef", "values", "suspend", "serviceAccountName", "waitStrategy", "healthCheckExprs"}

// stackDecides are those of a stack.
var stackDecides = []string{"approvePlan", "destroy", "suspend", "force", "inline", "sourceRef", "path", "values", "writeOutputsToSecret", "serviceAccountName", "planOnly", "breakTheGlass"}

// hole is a place in a text for a word of the instance. Stacks have templates of their own, ${{ … }}.
var hole = regexp.MustCompile(`\$?\{\{\s*\.([A-Za-z][A-Za-z0-9_]*)\s*\}\}`)

// readTemplate reads a template, and says what is wrong with it. The check refuses fields that its kind
// does not have.
func readTemplate(m *appv1.TemplateMetadata, spec *apiextensionsv1.JSON, decided []string, check func(map[string]any) error) (template map[string]any, wrong []string) {
	if m != nil {
		for _, texts := range []map[string]string{m.Labels, m.Annotations} {
			for key, text := range texts {
				wrong = append(wrong, unknownHoles("metadata "+key, text)...)
			}
		}
	}
	if spec == nil {
		return nil, wrong
	}
	if err := json.Unmarshal(spec.Raw, &template); err != nil {
		return nil, append(wrong, "spec is not an object")
	}
	for _, field := range decided {
		if _, has := template[field]; has {
			wrong = append(wrong, fmt.Sprintf("spec.%s cannot be set: the definition's other fields and the instance decide it", field))
		}
	}
	wrong = append(wrong, holesOf("spec", template)...)
	if err := check(Fill(template, map[string]string{"name": "name", "namespace": "namespace", "kind": "Kind"})); err != nil {
		wrong = append(wrong, "spec: "+err.Error())
	}
	slices.Sort(wrong)
	return template, wrong
}

// strictly decodes JSON, and refuses unknown fields.
func strictly(data []byte, into any) error {
	d := stdjson.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func holesOf(place string, v any) (wrong []string) {
	switch v := v.(type) {
	case string:
		return unknownHoles(place, v)
	case map[string]any:
		for key, value := range v {
			wrong = append(wrong, holesOf(place+"."+key, value)...)
		}
	case []any:
		for i, value := range v {
			wrong = append(wrong, holesOf(fmt.Sprintf("%s[%d]", place, i), value)...)
		}
	}
	return wrong
}

func unknownHoles(place, text string) (wrong []string) {
	for _, m := range hole.FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[0], "$") && !slices.Contains([]string{"name", "namespace", "kind"}, m[1]) {
			wrong = append(wrong, fmt.Sprintf("%s: {{ .%s }} is not known; there are {{ .name }}, {{ .namespace }} and {{ .kind }}", place, m[1]))
		}
	}
	return wrong
}

// Fill returns a copy of a part of a template with the words of an instance in its holes.
func Fill[T any](part T, words map[string]string) T {
	return fill(part, words).(T) //nolint:forcetypeassert // it has the type of its argument
}

func fill(v any, words map[string]string) any {
	switch v := v.(type) {
	case string:
		return hole.ReplaceAllStringFunc(v, func(at string) string {
			if word, ok := words[hole.FindStringSubmatch(at)[1]]; ok && !strings.HasPrefix(at, "$") {
				return word
			}
			return at
		})
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = fill(value, words)
		}
		return out
	case map[string]string:
		out := make(map[string]string, len(v))
		for key, value := range v {
			out[key] = fill(value, words).(string) //nolint:forcetypeassert // a text stays a text
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = fill(value, words)
		}
		return out
	}
	return v
}
