// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package setters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Image is the image that a policy elected.
type Image struct{ Name, Tag, Digest string }

// String returns name:tag@digest.
func (i Image) String() string {
	text := i.Name + ":" + i.Tag
	if i.Digest != "" {
		text += "@" + i.Digest
	}
	return text
}

// Setters are values by what markers name.
type Setters struct {
	values map[string]string
	// without are setters whose policy has no value.
	without map[string]string
}

// acceptable is what values may consist of: they need no escapes in any file.
var acceptable = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/:@+-]*$`)

// Add adds the setters of a policy.
func (s *Setters) Add(namespace, policy string, image Image) error {
	if s.values == nil {
		s.values, s.without = map[string]string{}, map[string]string{}
	}
	if text := image.String(); !acceptable.MatchString(text) {
		return fmt.Errorf("the policy %s/%s has an image that is not valid: %q", namespace, policy, text)
	}
	name := namespace + ":" + policy
	s.values[name], s.values[name+":name"], s.values[name+":tag"] = image.String(), image.Name, image.Tag
	if image.Digest == "" {
		s.without[name+":digest"] = "the policy reflects no digest; set its spec.digestReflectionPolicy"
		return nil
	}
	s.values[name+":digest"] = image.Digest
	return nil
}

// Object identifies what contains a changed value, as far as it is known.
type Object struct{ APIVersion, Kind, Namespace, Name string }

// Change is a replaced value.
type Change struct {
	OldValue, NewValue, Setter string
	Object                     Object `json:"-"`
}

// Result is the result of an edit of one file.
type Result struct {
	// Content is the new content; nil if nothing changed.
	Content []byte
	Changes []Change
	// Unknown are setters that markers name but no policy has.
	Unknown []string
	// Problem says why the file, or a marker, was left alone.
	Problem string
}

// markerKey is in every marker.
const markerKey = `"$imagepolicy"`

// Wanted reports whether files of a name can have markers.
func Wanted(name string) bool { return editorOf(name) != nil }

func editorOf(name string) func(*Setters, string, []byte) Result {
	switch path.Ext(name) {
	case ".yaml", ".yml":
		return (*Setters).yaml
	case ".tf", ".tofu", ".tfvars", ".hcl":
		return (*Setters).hcl
	}
	return nil
}

// Edit replaces the marked values of a file.
func (s *Setters) Edit(name string, content []byte) Result {
	edit := editorOf(name)
	if edit == nil || !bytes.Contains(content, []byte(markerKey)) {
		return Result{}
	}
	return edit(s, name, content)
}

// marked returns the setter in a comment.
func marked(comment string) (setter string, ok bool) {
	text := strings.TrimLeft(comment, "#/ \t")
	if !strings.HasPrefix(text, "{") {
		return "", false
	}
	var marker struct {
		Setter string `json:"$imagepolicy"`
	}
	// Further words may follow.
	err := json.NewDecoder(strings.NewReader(text)).Decode(&marker)
	return marker.Setter, err == nil && marker.Setter != ""
}

// span is a part of a file that is to be replaced.
type span struct {
	start, end int
	text       string
}

// plan is what is to be done with one file.
type plan struct {
	setters *Setters
	content []byte
	spans   []span
	result  Result
}

// value returns the value for a setter; ok is false if there is none.
func (p *plan) value(setter string) (value string, ok bool) {
	if why := p.setters.without[setter]; why != "" {
		p.problem(fmt.Sprintf("%s: %s", setter, why))
		return "", false
	}
	value, ok = p.setters.values[setter]
	if !ok {
		p.result.Unknown = append(p.result.Unknown, setter)
	}
	return value, ok
}

// replace plans the replacement of a value.
func (p *plan) replace(start, end int, text string, change Change) {
	p.spans = append(p.spans, span{start, end, text})
	p.result.Changes = append(p.result.Changes, change)
}

// problem keeps the first problem.
func (p *plan) problem(text string) {
	if p.result.Problem == "" {
		p.result.Problem = text
	}
}

// apply returns the content with all replacements. They are in order.
func (p *plan) apply() []byte {
	var out bytes.Buffer
	at := 0
	for _, s := range p.spans {
		out.Write(p.content[at:s.start])
		out.WriteString(s.text)
		at = s.end
	}
	out.Write(p.content[at:])
	return out.Bytes()
}
