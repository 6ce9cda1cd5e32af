// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/go-git/go-git/v5/config"
)

const (
	// maxModules limits the submodules of a tree, nested ones included; maxModuleDepth the nesting.
	maxModules     = 100
	maxModuleDepth = 10
)

// placeSubmodules writes the submodules of a tree. As in git, places that are not in .gitmodules
// stay empty.
func (m *mirror) placeSubmodules(ctx context.Context, places []submodule, modules []byte, dir string, left *budget, depth int) error {
	if depth >= maxModuleDepth {
		return inTree(places[0].path, "the submodules are nested too deeply")
	}
	read := config.NewModules()
	if err := read.Unmarshal(modules); err != nil {
		return inTree(".gitmodules", "it cannot be read")
	}
	urls := map[string]string{}
	for _, one := range read.Submodules {
		urls[path.Clean(one.Path)] = one.URL
	}
	for _, one := range places {
		at, known := urls[one.path]
		if !known {
			continue
		}
		if left.modules--; left.modules < 0 {
			return inTree(one.path, fmt.Sprintf("there are more than %d submodules", maxModules))
		}
		if err := m.placeSubmodule(ctx, one, at, filepath.Join(dir, filepath.FromSlash(one.path)), left, depth); err != nil {
			return err
		}
	}
	return nil
}

func (m *mirror) placeSubmodule(ctx context.Context, one submodule, at, dir string, left *budget, depth int) error {
	up, err := submoduleOf(m.up, at)
	if err != nil {
		return inTree(one.path, err.Error())
	}
	action := fmt.Sprintf("fetch the submodule %s from", one.path)
	inner, err := m.all.mirror(up)
	if err != nil {
		return explain(action, up, err)
	}
	t := target{want: one.commit, commit: one.commit, pinned: true}
	return explain(action, up, inner.place(ctx, t, checkout{submodules: true}, dir, left, depth+1))
}

// short matches git's short form of ssh://user@host/path, user@host:path.
var short = regexp.MustCompile(`^(?:([A-Za-z0-9_.-]+)@)?([A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\]):([^/].*|/.*)$`)

// submoduleOf returns the upstream of a submodule. It has its parent's credentials if it is on the
// same host. It may be on the server's disk only if its parent is.
func submoduleOf(parent Upstream, at string) (Upstream, error) {
	base, err := url.Parse(parent.URL)
	if err != nil {
		return Upstream{}, fmt.Errorf("the submodule's URL cannot be used")
	}
	var u *url.URL
	switch {
	case strings.HasPrefix(at, "./") || strings.HasPrefix(at, "../"):
		moved := *base
		moved.Path, moved.RawPath = path.Join("/", base.Path, at), ""
		u = &moved
	case strings.Contains(at, "://"):
		if u, err = url.Parse(at); err != nil {
			return Upstream{}, fmt.Errorf("the submodule's URL cannot be used")
		}
	default:
		parts := short.FindStringSubmatch(at)
		if parts == nil {
			return Upstream{}, fmt.Errorf("the submodule's URL is neither absolute nor relative to its repository's")
		}
		u = &url.URL{Scheme: "ssh", Host: parts[2], Path: path.Join("/", parts[3])}
		if parts[1] != "" {
			u.User = url.User(parts[1])
		}
	}
	if u.Scheme == "file" && base.Scheme != "file" {
		return Upstream{}, fmt.Errorf("the submodule is on the server's disk, which only repositories from there may use")
	}
	up := Upstream{URL: u.String(), Proxy: parent.Proxy}
	if sameHost(u, base) {
		up.Secret = parent.Secret
		if u.User == nil && base.User != nil {
			u.User = base.User
			up.URL = u.String()
		}
	}
	return up, nil
}
