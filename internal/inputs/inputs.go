// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
)

// Inputs are what a stack gives to tofu beside its program.
type Inputs struct {
	Variables map[string]Variable
	// Env is sorted by name.
	Env []EnvVar
	// Settings complete the backend's configuration, sorted by name.
	Settings []Setting
	// Files are written for the tool, in the object's order: a later one of the
	// same path wins.
	Files []File
	// CLIConfig is the tool's own configuration file; empty for none.
	CLIConfig Value
	// Inserted are texts that templates of the values took from Secrets.
	Inserted []Value
	// Origins say where values come from, such as "ConfigMap team-a/settings, key size": of a variable by its name, of the
	// environment by "env " and the name. Those of the object itself are named by their field.
	Origins map[string]string
	// Digest covers all of this.
	Digest string
	// References are the objects that were looked for, sorted.
	References []Reference
	// Warnings are worth showing and stop nothing.
	Warnings []string

	// prefixes begin the names that Lent gives to the environment.
	prefixes []string
}

// Variable is the value of one variable.
type Variable struct {
	JSON json.RawMessage
	// Secret is true when the value comes from a Secret.
	Secret bool
	// Listed is true when varsFrom names it, by its key or with all keys of an object. Its value is a string then.
	Listed bool
}

// String hides the value.
func (v Variable) String() string { return Mask }

// GoString hides the value.
func (v Variable) GoString() string { return Mask }

// EnvVar is one variable of the environment.
type EnvVar struct {
	Name   string
	Value  Value
	Secret bool
}

// Setting is one attribute of the backend's configuration.
type Setting struct {
	Name   string
	Value  Value
	Secret bool
}

// FileLocation says which directory a file is for.
type FileLocation string

// The locations of files.
const (
	FileInHome   FileLocation = "home"
	FileInModule FileLocation = "module"
)

// File is a file for the tool. Its content comes from a Secret.
type File struct {
	Location FileLocation
	// Path is relative to the location, clean, and does not leave it.
	Path    string
	Content Value
}

// Reference is an object that a stack names.
type Reference struct {
	Kind      string
	Namespace string
	Name      string
	// ResourceVersion is empty when there is no such object.
	ResourceVersion string
}

// String returns KIND NAMESPACE/NAME.
func (r Reference) String() string { return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name) }

// Values returns the variables as plain JSON, by name.
func (in *Inputs) Values() map[string]json.RawMessage {
	values := make(map[string]json.RawMessage, len(in.Variables))
	for name, v := range in.Variables {
		values[name] = v.JSON
	}
	return values
}

// EnvNames returns the names of the environment.
func (in *Inputs) EnvNames() []string {
	names := make([]string, len(in.Env))
	for i, e := range in.Env {
		names[i] = e.Name
	}
	return names
}

// digest is taken over JSON whose objects are sorted and whose white space is
// gone. Numbers stay as they were written.
func (in *Inputs) digest() string {
	h := sha256.New()
	names := make([]string, 0, len(in.Variables))
	for name := range in.Variables {
		names = append(names, name)
	}
	sort.Strings(names)
	part := func(kind, name string, value []byte) {
		fmt.Fprintf(h, "%s %d %s %d ", kind, len(name), name, len(value))
		h.Write(value)
	}
	for _, name := range names {
		part("var", name, canonical(in.Variables[name].JSON))
	}
	for _, e := range in.Env {
		part("env", e.Name, []byte(e.Value.Reveal()))
	}
	for _, s := range in.Settings {
		part("setting", s.Name, []byte(s.Value.Reveal()))
	}
	for _, f := range in.Files {
		part("file", string(f.Location)+"/"+f.Path, []byte(f.Content.Reveal()))
	}
	if config := in.CLIConfig.Reveal(); config != "" {
		part("config", "", []byte(config))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func canonical(raw json.RawMessage) []byte {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return raw
	}
	out, err := json.Marshal(value)
	if err != nil {
		return raw
	}
	return out
}

const (
	// Shorter texts are in every line of a log; hiding them would only hide
	// the log.
	minMask = 4
	// A line of a longer text hides the whole, as in a private key.
	minLineMask = 12
	// Base64 of a shorter text may be anything.
	minEncodedMask = 8
)

// Masks returns the texts that must not appear where people read, longest
// first: the secret values, the strings inside of structured ones, the lines of
// long ones, each also as it looks inside a JSON string, and the whole in base64.
func (in *Inputs) Masks() []string {
	found := map[string]bool{}
	for _, v := range in.Variables {
		if v.Secret {
			maskJSON(found, v.JSON, true)
		}
	}
	for _, e := range in.Env {
		if e.Secret {
			maskText(found, e.Value.Reveal())
			maskJSON(found, json.RawMessage(e.Value.Reveal()), false)
		}
	}
	for _, s := range in.Settings {
		if s.Secret {
			maskText(found, s.Value.Reveal())
		}
	}
	for _, f := range in.Files {
		maskText(found, f.Content.Reveal())
		maskJSON(found, json.RawMessage(f.Content.Reveal()), false)
	}
	for _, v := range append(in.Inserted, in.CLIConfig) {
		maskText(found, v.Reveal())
	}
	return longestFirst(found)
}

// WaysToWrite returns texts in the forms in which they may be written elsewhere: as they are, line by line, inside of a
// JSON string, and in base64. What is too short to be told from anything else is left out.
func WaysToWrite(texts []string) []string {
	found := map[string]bool{}
	for _, text := range texts {
		maskText(found, text)
	}
	return longestFirst(found)
}

// longestFirst keeps a part from spoiling its whole.
func longestFirst(found map[string]bool) []string {
	masks := slices.Collect(maps.Keys(found))
	sort.Slice(masks, func(i, j int) bool {
		if len(masks[i]) != len(masks[j]) {
			return len(masks[i]) > len(masks[j])
		}
		return masks[i] < masks[j]
	})
	return masks
}

// Hide puts a mark in the place of all masks in a text for people.
func (in *Inputs) Hide(text string) string { return hide(in.Masks(), text) }

func hide(masks []string, text string) string {
	var pairs []string
	for _, mask := range masks {
		pairs = append(pairs, mask, Mask)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// maskJSON masks the strings and long numbers in a document, and in documents
// that are strings themselves, as values of Secrets are.
func maskJSON(found map[string]bool, raw json.RawMessage, nested bool) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		switch t := token.(type) {
		case string:
			maskText(found, t)
			if nested && json.Valid([]byte(t)) {
				maskJSON(found, json.RawMessage(t), false)
			}
		case json.Number:
			maskText(found, t.String())
		}
	}
}

func maskText(found map[string]bool, text string) {
	add := func(text string, least int) {
		if text = strings.TrimSpace(text); len(text) < least || text == "true" || text == "false" || text == "null" {
			return
		}
		found[text] = true
		if quoted, err := json.Marshal(text); err == nil {
			found[string(quoted[1:len(quoted)-1])] = true
		}
		var plain bytes.Buffer
		encoder := json.NewEncoder(&plain)
		encoder.SetEscapeHTML(false) // as tofu writes its log
		if encoder.Encode(text) == nil {
			found[strings.Trim(plain.String(), "\n")[1:plain.Len()-2]] = true
		}
	}
	add(text, minMask)
	for _, whole := range []string{text, strings.TrimSpace(text)} {
		if len(whole) >= minEncodedMask {
			found[base64.RawStdEncoding.EncodeToString([]byte(whole))] = true
			found[base64.StdEncoding.EncodeToString([]byte(whole))] = true
			found[base64.RawURLEncoding.EncodeToString([]byte(whole))] = true
		}
	}
	if strings.Contains(text, "\n") {
		for line := range strings.Lines(text) {
			add(line, minLineMask)
		}
	}
}
