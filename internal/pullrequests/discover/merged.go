// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package discover

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Merged is the base with the changed files of the head: what the base would have after a merge, if
// nobody has changed the same files there since. Without it, what the base got since the head left it
// would look like changes of the pull request.
func Merged(base, head Tree, changed []string) Tree {
	is := map[string]bool{}
	for _, name := range changed {
		is[clean(name)] = true
	}
	out := Tree{Sums: maps.Clone(base.Sums)}
	if out.Sums == nil {
		out.Sums = map[string]string{}
	}
	for name := range is {
		if sum, ok := head.Sums[name]; ok {
			out.Sums[name] = sum
		} else {
			delete(out.Sums, name)
		}
	}
	out.Config = func(dir string) map[string][]byte {
		files, theirs := map[string][]byte{}, head.Config(dir)
		for name, content := range base.Config(dir) {
			if !is[path.Join(clean(dir), name)] {
				files[name] = content
			}
		}
		for name, content := range theirs {
			if is[path.Join(clean(dir), name)] {
				files[name] = content
			}
		}
		return files
	}
	return out
}

// Below adds the files below changed paths that are directories in one of the trees. Forges name a submodule by its
// directory, and a file that became a directory by its name.
func Below(changed []string, trees ...Tree) []string {
	out, known, dirs := []string{}, map[string]bool{}, map[string]bool{}
	for _, name := range changed {
		name = clean(name)
		for _, t := range trees {
			if _, file := t.Sums[name]; !file {
				dirs[name] = true
			}
		}
		if !known[name] {
			known[name] = true
			out = append(out, name)
		}
	}
	for _, t := range trees {
		for _, name := range slices.Sorted(maps.Keys(t.Sums)) {
			if !known[name] && belowOne(name, dirs) {
				known[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

func belowOne(name string, dirs map[string]bool) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if dirs[dir] {
			return true
		}
	}
	return false
}

// dataPrograms are the types of data sources, and of ephemeral resources, that start programs while planning.
var dataPrograms = []string{"external", "shell_", "exec_", "command_", "cmd_", "local_command"}

// Programs lists the places where the code of a stack names programs to start, and the parts that cannot
// be read, which may have some: "data.external.ip at main.tf:3". A plan with the stack's credentials
// would start them, or an apply.
func Programs(tree Tree, s Stack) []string {
	var out []string
	t := readTree(tree, s)
	for _, r := range t.Resources {
		at := " at " + r.Pos.String()
		if r.Mode != "managed" && startsProgram(r.Type) {
			out = append(out, r.Mode+"."+r.Type+"."+r.Name+at)
		}
		for _, p := range r.Provisioners {
			out = append(out, "provisioner "+p+" of "+r.Type+"."+r.Name+at)
		}
	}
	for _, p := range t.Programs {
		out = append(out, p.Address+at(p.Pos))
	}
	for _, u := range t.Unread {
		if !u.Remote {
			out = append(out, "what cannot be read: "+u.Why)
		}
	}
	return out
}

func at(p module.Position) string { return " at " + p.String() }

func startsProgram(kind string) bool {
	for _, known := range dataPrograms {
		if kind == known || strings.HasSuffix(known, "_") && strings.HasPrefix(kind, known) {
			return true
		}
	}
	return false
}

// Strangers lists the modules from elsewhere and the providers that the code of a stack has after a
// change, and did not have before. Both are code of others that a plan executes.
func Strangers(before, after Tree, s Stack) []string {
	known := map[string]bool{}
	for _, one := range strangers(readTree(before, s)) {
		known[one] = true
	}
	var out []string
	for _, one := range strangers(readTree(after, s)) {
		if !known[one] {
			known[one] = true
			out = append(out, one)
		}
	}
	return out
}

func strangers(t *module.Tree) (out []string) {
	for _, c := range t.Calls {
		if call := (module.Call{Source: c.Source}); !call.Local() {
			out = append(out, "module "+c.Source+" "+c.Version)
		}
	}
	provider := func(source string) {
		// What is part of the tool is nobody else's.
		if source != "" && !strings.HasPrefix(source, "terraform.io/builtin/") {
			out = append(out, "provider "+source)
		}
	}
	for _, p := range t.Providers {
		provider(p.Source)
	}
	for _, r := range t.Resources {
		provider(r.Provider)
	}
	return out
}

// template is rendered over main.tf of a root module before a run.
const template = "main.tf.tpl"

// readTree reads what the code of a stack declares. What a run would read as configuration, and a tree
// does not show, is in Unread: links to other files, and a template.
func readTree(tree Tree, s Stack) *module.Tree {
	root, named := clean(s.Path), configNames(tree)
	return module.ReadTree(func(dir string) (map[string][]byte, string) {
		dir = clean(dir)
		files := tree.Config(orRoot(dir))
		if dir == root && len(s.Rendered) > 0 {
			files = maps.Clone(files)
			if files == nil {
				files = map[string][]byte{}
			}
			maps.Copy(files, s.Rendered)
		}
		if _, rendered := tree.Sums[path.Join(dir, template)]; rendered && dir == root {
			return files, path.Join(dir, template) + " is rendered with values into other code"
		}
		for _, name := range named[dir] {
			if _, known := files[name]; !known {
				return files, path.Join(dir, name) + " leads to a file that is not read"
			}
		}
		return files, ""
	}, orRoot(root), nil)
}

// configNames are the base names of all configuration files and links of a tree, by directory.
func configNames(tree Tree) map[string][]string {
	out := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(tree.Sums)) {
		if module.IsConfigFile(name) {
			dir := clean(path.Dir(name))
			out[dir] = append(out[dir], path.Base(name))
		}
	}
	return out
}

func orRoot(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}
