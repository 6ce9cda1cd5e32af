// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Tree is what a root module and the modules that it calls declare: enough to judge what a plan
// would execute, before anything is executed.
type Tree struct {
	Calls     []TreeCall
	Resources []TreeResource
	Providers []TreeProvider
	// Programs are other places where the configuration names programs, such as the key provider
	// "external" of an encryption, or "exec" in a provider's configuration.
	Programs []TreeProgram
	// Unread are the parts that could not be read. If there are any, the lists may be incomplete.
	Unread []TreeUnread
}

// TreeCall is a call of a module. Key is its position, such as "network.subnets".
type TreeCall struct {
	Key, Source, Version string
	Pos                  Position
}

// TreeResource is a resource, data source or ephemeral resource. Mode is managed, data or ephemeral.
type TreeResource struct {
	Module, Mode, Type, Name string
	// Provider is the provider's source as it is written or implied, such as "hashicorp/aws".
	Provider     string
	Provisioners []string
	// Removed is true for a removed block, which names the resource and may have provisioners.
	Removed bool
	Pos     Position
}

// TreeProvider is a requirement or a configuration of a provider. Name is its local name.
type TreeProvider struct {
	Module, Name, Alias, Source, Version string
	Pos                                  Position
}

// TreeProgram is a place that names a program. Address says which, such as "provider.kubernetes".
type TreeProgram struct {
	Module, Address, Kind string
	Pos                   Position
}

// TreeUnread is a module that could not be read. Remote is true if it is not in the source.
type TreeUnread struct {
	Module, Why string
	Remote      bool
	Pos         Position
}

// maxTreeResources limits the declarations of a tree, each call of a module counted.
const maxTreeResources = 20_000

// TreeFiles returns the configuration files of a directory, by base name; none if it does not exist.
// why says why the list may be incomplete.
type TreeFiles func(dir string) (files map[string][]byte, why string)

// ReadTree reads the root module in dir and the modules that it calls. installed are the directories
// of remote modules by their keys, relative to the source; nil before an init.
//
// It reads .tf files also if a .tofu file of the same name replaces them: which one counts depends on
// the tool, and what reads neither is harmless to report.
func ReadTree(files TreeFiles, dir string, installed map[string]string) *Tree {
	w := &treeWalk{files: files, installed: installed, tree: &Tree{}, read: map[string]*treeModule{}}
	w.walk(path.Clean(orDot(dir)), "", Position{}, 0)
	return w.tree
}

// treeWalk follows the calls of one root module.
type treeWalk struct {
	files     TreeFiles
	installed map[string]string
	tree      *Tree
	read      map[string]*treeModule
	calls     int
	size      int
	// full is true once the tree has reached a limit.
	full bool
}

func (w *treeWalk) unread(key string, at Position, format string, args ...any) {
	w.tree.Unread = append(w.tree.Unread, TreeUnread{Module: key, Why: fmt.Sprintf(format, args...), Pos: at})
}

// walk adds a module and those that it calls.
func (w *treeWalk) walk(dir, key string, at Position, depth int) {
	if w.full {
		return
	}
	if w.calls++; w.calls > maxCalls || depth > maxCallDepth || len(w.tree.Resources) > maxTreeResources {
		w.full = true
		w.unread(key, at, "there are more than %d calls of modules, %d levels of them, or %d resources", maxCalls, maxCallDepth, maxTreeResources)
		return
	}
	m := w.read[dir]
	if m == nil {
		files, why := w.files(dir)
		for _, text := range files {
			w.size += len(text)
		}
		if w.size > maxCallsSize {
			w.full = true
			w.unread(key, at, "the modules' files have more than %d MiB", maxCallsSize>>20)
			return
		}
		m = readTreeModule(dir, files)
		if why != "" {
			m.unread = append(m.unread, TreeUnread{Why: why})
		}
		w.read[dir] = m
	}
	for _, u := range m.unread {
		w.unread(key, u.Pos, "%s", u.Why)
	}
	for _, r := range m.resources {
		r.Module = key
		w.tree.Resources = append(w.tree.Resources, r)
	}
	for _, p := range m.providers {
		p.Module = key
		w.tree.Providers = append(w.tree.Providers, p)
	}
	for _, p := range m.programs {
		p.Module = key
		w.tree.Programs = append(w.tree.Programs, p)
	}
	for _, name := range slices.Sorted(maps.Keys(m.calls)) {
		call := m.calls[name]
		call.Key = strings.TrimPrefix(key+"."+name, ".")
		w.tree.Calls = append(w.tree.Calls, call)
		w.follow(dir, call, depth)
	}
}

// follow reads the module that a call names.
func (w *treeWalk) follow(dir string, call TreeCall, depth int) {
	inner, remote := path.Join(dir, call.Source), !below(call.Source)
	placed, there := w.installed[call.Key]
	switch {
	case !remote && there && placed != inner:
		// The tool reads what its list of modules names, and a source can bring that list.
		w.unread(call.Key, call.Pos, "the tool's list of modules has the module %q in another directory, %s", call.Source, placed)
	case remote:
		if !there {
			w.tree.Unread = append(w.tree.Unread, TreeUnread{Module: call.Key, Remote: true, Pos: call.Pos,
				Why: fmt.Sprintf("the module %q is known after init only", cmp.Or(call.Source, call.Key))})
			return
		}
		inner = placed
	}
	if !fs.ValidPath(inner) {
		w.unread(call.Key, call.Pos, "the module %q is outside of the source", call.Source)
		return
	}
	w.walk(inner, call.Key, call.Pos, depth+1)
}
