// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// maxSample limits a made-up text.
const maxSample = 256

// sample makes up a value of a schema: the author's example, the default, or the smallest value.
func sample(p *props) any {
	for _, given := range []*apiextensionsv1.JSON{p.Example, p.Default} {
		if value, is := decoded(given); is {
			return value
		}
	}
	if len(p.Enum) > 0 {
		value, _ := decoded(&p.Enum[0])
		return value
	}
	switch {
	case p.XIntOrString && p.Pattern != "":
		return sampleText(p)
	case p.XIntOrString, p.Type == "integer", p.Type == "number":
		return sampleNumber(p)
	case p.Type == "boolean":
		return false
	case p.Type == "string":
		return sampleText(p)
	case p.Type == "array":
		return sampleList(p)
	}
	return sampleObject(p)
}

func decoded(given *apiextensionsv1.JSON) (value any, is bool) {
	if given == nil {
		return nil, false
	}
	value, err := plainJSON(given.Raw)
	return value, err == nil && value != nil
}

// plainJSON decodes as objects of the API are: whole numbers are int64.
func plainJSON(text []byte) (value any, err error) {
	return value, utiljson.Unmarshal(text, &value)
}

func sampleNumber(p *props) any {
	n := 1.0
	step := 1.0
	if p.MultipleOf != nil && *p.MultipleOf > 0 {
		n, step = *p.MultipleOf, *p.MultipleOf
	}
	if p.Maximum != nil && n > *p.Maximum {
		n = *p.Maximum
		if p.ExclusiveMaximum {
			n -= step
		}
	}
	if p.Minimum != nil && n <= *p.Minimum {
		n = *p.Minimum
		if p.ExclusiveMinimum {
			n += step
		}
	}
	if n == float64(int64(n)) {
		return int64(n)
	}
	return n
}

func sampleList(p *props) any {
	list := []any{}
	if p.MinItems == nil || p.Items == nil || p.Items.Schema == nil {
		return list
	}
	distinct := p.XListType != nil && *p.XListType == "set"
	for i := range min(*p.MinItems, maxSample) {
		item := sample(p.Items.Schema)
		text, is := item.(string)
		if is = is && distinct; is && i > 0 && len(p.Items.Schema.Enum) > int(i) {
			item, _ = decoded(&p.Items.Schema.Enum[i])
		} else if is && i > 0 {
			item = text + string(rune('a'+i))
		}
		list = append(list, item)
	}
	return list
}

// sampleObject has the required fields, and those that the author gave an example for.
func sampleObject(p *props) any {
	o := map[string]any{}
	required := slices.Clone(p.Required)
	for _, branches := range [][]props{p.AnyOf, p.OneOf} {
		if len(branches) > 0 {
			required = append(required, branches[0].Required...)
		}
	}
	for _, branch := range p.AllOf {
		required = append(required, branch.Required...)
	}
	for name, field := range p.Properties {
		if slices.Contains(required, name) || field.Example != nil {
			o[name] = sample(&field)
		}
	}
	if inner := elementOf(p); inner != nil {
		for _, name := range required {
			if _, is := o[name]; !is {
				o[name] = sample(inner)
			}
		}
		if p.MinProperties != nil && len(o) == 0 && *p.MinProperties > 0 {
			o["example"] = sample(inner)
		}
	}
	return o
}

// samples are texts that look like what a pattern or format is probably about.
var samples = []string{
	"example", "example-1", "10Gi", "100m", "1", "example.com", "10.0.0.0/16", "10.0.0.1", "fd00::1", "v1.0.0", "1h", "a@example.com",
	"https://example.com/", "s3://bucket/path", "2030-01-01", "2030-01-01T00:00:00Z", "00000000-0000-0000-0000-000000000000", "0 2 * * *", "a", "ZXhhbXBsZQ==",
}

var byFormat = map[string]string{
	"ipv4": "10.0.0.1", "ipv6": "fd00::1", "cidr": "10.0.0.0/16", "email": "a@example.com", "uri": "https://example.com/", "date": "2030-01-01",
	"date-time": "2030-01-01T00:00:00Z", "datetime": "2030-01-01T00:00:00Z", "duration": "1h", "uuid": "00000000-0000-4000-8000-000000000000", "mac": "02:00:00:00:00:01",
	"byte": "ZXhhbXBsZQ==", "hostname": "example.com",
}

func sampleText(p *props) any {
	candidates := samples
	if text, is := byFormat[p.Format]; is {
		candidates = append([]string{text}, samples...)
	} else if p.Pattern == "" {
		candidates = samples[:1]
	}
	var pattern *regexp.Regexp
	if p.Pattern != "" {
		pattern, _ = regexp.Compile(p.Pattern)
	}
	fits := func(text string) bool {
		n := int64(len([]rune(text)))
		return (pattern == nil || pattern.MatchString(text)) && (p.MinLength == nil || n >= *p.MinLength) && (p.MaxLength == nil || n <= *p.MaxLength)
	}
	for _, text := range candidates {
		if fits(text) {
			return text
		}
	}
	if pattern != nil {
		return matching(p.Pattern)
	}
	n := int64(1)
	if p.MinLength != nil {
		n = min(*p.MinLength, maxSample)
	}
	if p.MaxLength != nil {
		n = min(n, *p.MaxLength)
	}
	return strings.Repeat("x", int(max(n, 0)))
}

// matching makes up a short text that a pattern matches.
func matching(pattern string) string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	write(&b, parsed.Simplify())
	return b.String()
}

func write(b *strings.Builder, e *syntax.Regexp) {
	if b.Len() > maxSample {
		return
	}
	switch e.Op {
	case syntax.OpLiteral:
		b.WriteString(string(e.Rune))
	case syntax.OpCharClass:
		b.WriteRune(member(e.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, inner := range e.Sub {
			write(b, inner)
		}
	case syntax.OpAlternate:
		write(b, e.Sub[0])
	case syntax.OpRepeat:
		for range e.Min {
			write(b, e.Sub[0])
		}
	}
}

// member is a readable character of a class, which is a list of ranges.
func member(ranges []rune) rune {
	for _, want := range "ax0A-_./" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= want && want <= ranges[i+1] {
				return want
			}
		}
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		if unicode.IsPrint(ranges[i]) {
			return ranges[i]
		}
	}
	if len(ranges) > 0 {
		return ranges[0]
	}
	return 'x'
}

// Example returns a small spec with the required fields, and those with examples of their author. It
// is valid after defaulting, unless rules in CEL or conditions want more than can be guessed.
func (s *Schema) Example() map[string]any {
	value, is := sample(&s.Spec).(map[string]any)
	if !is {
		value = map[string]any{}
	}
	return value
}
