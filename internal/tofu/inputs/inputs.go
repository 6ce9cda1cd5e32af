// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Inputs are the data that a stack passes to tofu besides its program.
type Inputs struct {
	Variables map[string]Variable
	// Env is sorted by name.
	Env []EnvVar
	// Settings complete the backend's configuration, sorted by name.
	Settings []Setting
	// Files are written for the tool in the object's order: later files override earlier ones with
	// the same path.
	Files []File
	// CLIConfig is the tool's configuration file; empty for none.
	CLIConfig Value
	// Inserted are texts that templates of the values inserted from Secrets.
	Inserted []Value
	// Origins describe where values come from, such as "ConfigMap team-a/settings, key size" or a
	// field: for a variable by its name, for the environment by "env " and the name.
	Origins map[string]string
	// Digest covers all inputs.
	Digest string
	// Conceal makes digests of settings that are not understood; nil for none.
	Conceal Digest
	// References are the objects that were read or missing, sorted.
	References []Reference
	// Warnings should be shown, but prevent nothing.
	Warnings []string
	// MayChange is true if an object is missing, or has a controller, which may change it. MayGrow
	// is true if such an object may add variables.
	MayChange, MayGrow bool

	// consumed are the variables with the values of contracts.
	consumed map[string]Variable
	// prefixes select the names that Lent adds to the environment.
	prefixes []string
}

// Variable is the value of one variable.
type Variable struct {
	JSON json.RawMessage
	// Secret is true if the value comes from a Secret, Open if it is nevertheless known not to be
	// secret.
	Secret, Open bool
	// Listed is true if varsFrom sets it, from a named key or from all keys of an object. Its value
	// is then a string.
	Listed bool
	// Absent is true for the empty string that replaces a missing key of a Secret.
	Absent bool
	// Kept is true if the value's object has a controller, such as another stack, which may change
	// it.
	Kept bool
}

// String hides the value.
func (v Variable) String() string { return Mask }

// GoString hides the value.
func (v Variable) GoString() string { return Mask }

// EnvVar is an environment variable.
type EnvVar struct {
	Name  string
	Value Value
	// Secret and Open are as in [Variable].
	Secret, Open bool
}

// Setting is one attribute of the backend's configuration.
type Setting struct {
	Name  string
	Value Value
	// Secret is true if the value comes from a Secret and is not known to be open.
	Secret bool
}

// FileLocation is the directory of a file.
type FileLocation string

// The locations of files.
const (
	FileInHome   FileLocation = "home"
	FileInModule FileLocation = "module"
)

// File is a file for the tool, with content from a Secret.
type File struct {
	Location FileLocation
	// Path is clean, relative to the location, and stays below it.
	Path    string
	Content Value
}

// Reference is an object that a stack names.
type Reference struct {
	Kind      string
	Namespace string
	Name      string
	// ResourceVersion is empty if the object does not exist.
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

// EnvNames returns the names of the environment variables.
func (in *Inputs) EnvNames() []string {
	names := make([]string, len(in.Env))
	for i, e := range in.Env {
		names[i] = e.Name
	}
	return names
}

// digest hashes JSON with sorted keys and without white space. Numbers keep their notation.
func (in *Inputs) digest() string {
	h := sha256.New()
	part := func(kind, name string, value []byte) {
		fmt.Fprintf(h, "%s %d %s %d ", kind, len(name), name, len(value))
		h.Write(value)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Variables)) {
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
