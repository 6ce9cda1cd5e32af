// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Foreign describes what a remote module reads besides its own files while a root module that calls
// it is planned.
type Foreign struct {
	// Whole says why it may read any file of the root module's source; empty if it reads only files
	// of the root module's own directory.
	Whole string
	// World lists the external data that it reads.
	World []string
	// Files is true if it may name files of its own directory; callers must check whether these
	// lead out of it. Templates are the files that it renders.
	Files     bool
	Templates []string
}

// ReadForeign inspects one directory of a remote module. files are its configuration files by base
// name; name begins positions in messages. It does not follow further module calls.
func ReadForeign(name string, files map[string][]byte) Foreign {
	d := readDir(name, files)
	f := Foreign{Whole: d.whole, World: d.world, Files: d.files}
	if variables := slices.Sorted(maps.Keys(d.variables)); len(variables) > 0 {
		f.whole("%s: var.%s, a module's variable, decides which file is read", d.variables[variables[0]], variables[0])
	}
	if d.anyTemplate {
		f.whole("%s renders templates that cannot be determined", name)
	}
	for _, t := range d.templates {
		if t.fromRoot {
			f.whole("%s renders the template %s of the root module", name, t.name)
		}
		f.Templates = append(f.Templates, path.Clean(t.name))
	}
	return f
}

func (f *Foreign) whole(format string, args ...any) {
	if f.Whole == "" {
		f.Whole = fmt.Sprintf(format, args...)
	}
}

// TextReads describes what happens with a text that is rendered as a template, or read by a
// provider.
type TextReads struct {
	// Leaves is true if it contains a path that leads up. Files and World are true if, as a
	// template, it would read files or external data.
	Leaves, Files, World bool
}

var templateCall = regexp.MustCompile(`\b(file\w*|templatefile|templatestring|abspath|dirname|pathexpand)\s*\(`)

// ReadText inspects a text that is not configuration.
func ReadText(text []byte) TextReads {
	r := TextReads{Leaves: LeavesDirectory(string(text))}
	if strings.Contains(string(text), "{") { // every interpolation and directive contains it
		r.Files, r.World = templateCall.Match(text), worldCall.Match(text)
	}
	return r
}

// ForPeople reports whether a file is documentation, whose paths no program follows, or
// configuration of modules that are not called.
func ForPeople(name string) bool {
	switch path.Ext(name) {
	case ".md", ".markdown", ".adoc", ".rst", ".tf", ".tofu":
		return true
	}
	return strings.HasPrefix(path.Base(name), "LICENSE") || strings.HasSuffix(name, ".tf.json") || strings.HasSuffix(name, ".tofu.json")
}
