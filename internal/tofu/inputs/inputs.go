// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sort"
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
	// MayChange is true when an object that was read has a controller, which may change it, or is not there yet. MayGrow is true when
	// such an object may bring further variables.
	MayChange, MayGrow bool

	// prefixes begin the names that Lent gives to the environment.
	prefixes []string
}

// Variable is the value of one variable.
type Variable struct {
	JSON json.RawMessage
	// Secret is true when the value comes from a Secret, Open when it is known to be no secret nevertheless.
	Secret, Open bool
	// Listed is true when varsFrom names it, by its key or with all keys of an object. Its value is a string then.
	Listed bool
	// Absent is true for the empty string that stands for a key of a Secret that is not there.
	Absent bool
	// Kept is true when the object that the value comes from has a controller, such as another stack, which may change it.
	Kept bool
}

// String hides the value.
func (v Variable) String() string { return Mask }

// GoString hides the value.
func (v Variable) GoString() string { return Mask }

// EnvVar is one variable of the environment.
type EnvVar struct {
	Name  string
	Value Value
	// Secret and Open are as those of a [Variable].
	Secret, Open bool
}

// Setting is one attribute of the backend's configuration.
type Setting struct {
	Name  string
	Value Value
	// Secret is true when the value came from a Secret, and is not known to be open.
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
