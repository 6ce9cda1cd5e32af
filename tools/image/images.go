// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
)

// image describes one of Yuba's images.
type image struct {
	name, title, licences string
	// user is the name of its user, shell the user's shell.
	user, shell string
	// packages are those of Debian. Without a shell, their dependencies are left out: they are only
	// data.
	packages []string
	// programs are Yuba's; the first is the entry point.
	programs []string
	tofu     bool
}

// images are the images that are built.
var images = []image{
	{
		name: "yuba", title: "Yuba: control plane for OpenTofu", licences: "Apache-2.0",
		user: "yuba", shell: "/usr/sbin/nologin", packages: []string{"base-files", "ca-certificates"},
		programs: []string{"yuba", "yuba-helm", "yuba-kustomize", "yuba-policy", "yuba-sandbox", "yuba-sops"},
	},
	{
		name: "yuba-runner", title: "Runs of Yuba: OpenTofu, git and ssh", licences: "Apache-2.0 AND MPL-2.0 AND GPL-2.0-only",
		user: "runner", shell: "/bin/sh", packages: []string{"base-files", "ca-certificates", "busybox", "git", "openssh-client"},
		programs: []string{"yuba-runner", "yuba-sandbox"}, tofu: true,
	},
}

// hasShell: people and modules can start commands in the image.
func (i image) hasShell() bool { return i.shell == "/bin/sh" }

// debian is the layer with Debian's files, and the packages that it has.
func (i image) debian(all []debianPackage) (tree, []debianPackage, error) {
	t := tree{}
	var packages []debianPackage
	for _, p := range all {
		if !i.hasShell() && !slices.Contains(i.packages, p.name) {
			continue
		}
		useful, err := t.unpack(p)
		if err != nil {
			return nil, nil, err
		}
		if useful {
			t.addStatus(p)
			packages = append(packages, p)
		}
	}
	if err := t.bundleAuthorities(); err != nil {
		return nil, nil, err
	}
	if i.hasShell() {
		if err := t.addApplets(); err != nil {
			return nil, nil, err
		}
	}
	t.addUser(i.user, i.shell)
	return t, packages, nil
}

// programDir is where the images have our programs.
const programDir = "usr/local/bin/"

// programTree is a layer with programs.
func programTree(dir string, names ...string) tree {
	t := tree{}
	for _, name := range names {
		t.addProgram(programDir+name, dir+"/"+name)
	}
	return t
}
