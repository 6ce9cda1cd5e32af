// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// machineFiles makes a file tree: directories end with a slash, links are NAME -> TARGET.
func machineFiles(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(names); i += 2 {
		at, target := filepath.Join(dir, names[i]), names[i+1]
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		switch {
		case target == "file":
			err = os.WriteFile(at, nil, 0o644)
		case target == "dir":
			err = os.MkdirAll(at, 0o755)
		case target[0] == '/':
			err = os.Symlink(dir+target, at)
		default:
			err = os.Symlink(target, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLayoutOfARoot(t *testing.T) {
	type list struct {
		name string
		rank rank
	}
	cases := map[string]struct {
		files []string
		lists []list
		want  []shown
		links map[string]string
	}{
		"what is not there is left out": {nil, []list{{"nowhere/at/all", readable}}, nil, nil},
		"a path in another of the same rank is there already": {
			[]string{"usr/bin", "dir"}, []list{{"usr", executable}, {"usr/bin", executable}, {"usr/bin", readable}},
			[]shown{{"usr", "usr", executable}}, nil},
		"a path in another of a lower rank is shown on top of it": {
			[]string{"data/mine", "dir"}, []list{{"data", readable}, {"data/mine", writable}},
			[]shown{{"data", "data", readable}, {"data/mine", "data/mine", writable}}, nil},
		"of two ranks of one path the higher counts": {
			[]string{"a", "dir"}, []list{{"a", readable}, {"a", writable}}, []shown{{"a", "a", writable}}, nil},
		"a name that begins like another is not in it": {
			[]string{"usr", "dir", "usr-local", "dir"}, []list{{"usr", executable}, {"usr-local", executable}},
			[]shown{{"usr", "usr", executable}, {"usr-local", "usr-local", executable}}, nil},
		"a link is made, and what it leads to is shown": {
			[]string{"usr/lib", "dir", "lib", "usr/lib"}, []list{{"lib", executable}},
			[]shown{{"usr/lib", "usr/lib", executable}}, map[string]string{"lib": "usr/lib"}},
		"links on the way, and links to links": {
			[]string{"opt/tofu-1/bin/tofu", "file", "opt/tofu", "tofu-1", "bin/tofu", "../opt/tofu/bin/tofu", "usr", "dir"}, []list{{"usr", executable}, {"bin/tofu", executable}},
			[]shown{{"opt/tofu-1/bin/tofu", "opt/tofu-1/bin/tofu", executable}, {"usr", "usr", executable}},
			map[string]string{"bin/tofu": "../opt/tofu/bin/tofu", "opt/tofu": "tofu-1"}},
		"an absolute link": {
			[]string{"run/resolv.conf", "file", "etc/resolv.conf", "/run/resolv.conf"}, []list{{"etc/resolv.conf", readable}},
			[]shown{{"run/resolv.conf", "run/resolv.conf", readable}}, map[string]string{"etc/resolv.conf": "/run/resolv.conf"}},
		"a link that leads nowhere is no path": {
			[]string{"etc/localtime", "nowhere"}, []list{{"etc/localtime", readable}}, nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := machineFiles(t, c.files...)
			l := newLayout()
			for _, entry := range c.lists {
				if err := l.add(filepath.Join(dir, entry.name), entry.rank); err != nil {
					t.Fatal(err)
				}
			}
			var want []shown
			for _, s := range c.want {
				want = append(want, shown{filepath.Join(dir, s.source), filepath.Join(dir, s.path), s.rank})
			}
			links := map[string]string{}
			for at, target := range c.links {
				if target[0] == '/' {
					target = dir + target
				}
				links[filepath.Join(dir, at)] = target
			}
			if diff := cmp.Diff(want, l.mounts(), cmp.AllowUnexported(shown{})); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(links, l.links, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsPlacedElsewhereHidesNothing(t *testing.T) {
	l := newLayout()
	l.place("/work/home", "/home/runner", writable)
	l.place("/home/runner/data/src", "/home/runner/data/src", writable)
	want := []shown{{"/work/home", "/home/runner", writable}, {"/home/runner/data/src", "/home/runner/data/src", writable}}
	if diff := cmp.Diff(want, l.mounts(), cmp.AllowUnexported(shown{})); diff != "" {
		t.Error(diff)
	}
}

func TestALinkToItselfIsAnError(t *testing.T) {
	dir := machineFiles(t, "a", "b", "b", "a")
	if err := newLayout().add(filepath.Join(dir, "a"), readable); err == nil {
		t.Error("it was followed for ever, or taken for something")
	}
}
