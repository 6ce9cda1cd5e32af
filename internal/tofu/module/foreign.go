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

// Foreign says what a module from elsewhere reads beside its own files while a root module is planned that calls it.
type Foreign struct {
	// Whole says why it may read any file of the root module's source; empty when it reads none but those of the root
	// module's own directory.
	Whole string
	// World names what it reads of the world.
	World []string
	// Files is true when it may name files of its own directory, be it for a provider. Whoever knows these files has to look
	// whether they lead out of it. Templates are those that it renders.
	Files     bool
	Templates []string
}

// ReadForeign looks into one directory of a module from elsewhere, given its configuration files by base name. Positions
// are told by name. Other modules that it calls are not followed.
func ReadForeign(name string, files map[string][]byte) Foreign {
	d := readDir(name, files)
	f := Foreign{Whole: d.whole, World: d.world, Files: d.files}
	if variables := slices.Sorted(maps.Keys(d.variables)); len(variables) > 0 {
		f.whole("%s: which file is read depends on var.%s, a module's variable", d.variables[variables[0]], variables[0])
	}
	if d.anyTemplate {
		f.whole("%s renders templates that are not plain to see", name)
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

// TextReads says what becomes of a text that is rendered as a template, or that a provider understands.
type TextReads struct {
	// Leaves is true when it has a path that leads up; Files and World when it would, as a template, read files or the
	// world.
	Leaves, Files, World bool
}

var templateCall = regexp.MustCompile(`\b(file\w*|templatefile|templatestring|abspath|dirname|pathexpand)\s*\(`)

// ReadText looks at a text that is no configuration.
func ReadText(text []byte) TextReads {
	r := TextReads{Leaves: LeavesDirectory(string(text))}
	if strings.Contains(string(text), "{") { // neither an interpolation nor a directive goes without
		r.Files, r.World = templateCall.Match(text), worldCall.Match(text)
	}
	return r
}

// ForPeople reports whether a file is a text that no program follows the paths in, or configuration of modules that are not
// called.
func ForPeople(name string) bool {
	switch path.Ext(name) {
	case ".md", ".markdown", ".adoc", ".rst", ".tf", ".tofu":
		return true
	}
	return strings.HasPrefix(path.Base(name), "LICENSE") || strings.HasSuffix(name, ".tf.json") || strings.HasSuffix(name, ".tofu.json")
}
