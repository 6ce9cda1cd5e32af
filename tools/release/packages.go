// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
	"github.com/yuba-dev/yuba/tools/release/build"
)

// installed maps the files of an archive to their paths in packages. All programs are in one
// directory, because each finds the others beside itself.
func installed(name, format string) (path, kind string) {
	switch {
	case strings.HasPrefix(name, "bin/"):
		return "/usr/" + name, files.TypeFile
	case name == "systemd/yuba.service":
		return "/usr/lib/systemd/system/yuba.service", files.TypeFile
	case name == "completions/yuba.bash":
		return "/usr/share/bash-completion/completions/yuba", files.TypeFile
	case name == "completions/_yuba" && format == "deb":
		return "/usr/share/zsh/vendor-completions/_yuba", files.TypeFile
	case name == "completions/_yuba":
		return "/usr/share/zsh/site-functions/_yuba", files.TypeFile
	case name == "completions/yuba.fish":
		return "/usr/share/fish/vendor_completions.d/yuba.fish", files.TypeFile
	case name == "LICENSE" && format == "deb":
		return "/usr/share/doc/yuba/copyright", files.TypeFile
	case name == "LICENSE":
		return "/usr/share/licenses/yuba/LICENSE", files.TypeRPMLicence
	}
	return "/usr/share/doc/yuba/" + filepath.Base(name), files.TypeFile
}

// writePackages writes the packages for Debian and Red Hat, and returns their names.
func (r *release) writePackages(p build.Platform, tree []file) ([]string, error) {
	work, err := os.MkdirTemp(r.out, "yuba_packages")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work) //nolint:errcheck // the next release removes what is left
	var made []string
	for _, format := range []struct {
		name     string
		packager nfpm.Packager
	}{{"deb", deb.Default}, {"rpm", rpm.DefaultRPM}} {
		name := r.fileName(p) + "." + format.name
		info, err := r.describe(p, tree, format.name, filepath.Join(work, format.name))
		if err != nil {
			return nil, err
		}
		var content bytes.Buffer
		if err := format.packager.Package(nfpm.WithDefaults(info), &content); err != nil {
			return nil, fmt.Errorf("make %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(r.out, name), content.Bytes(), 0o644); err != nil {
			return nil, err
		}
		made = append(made, name)
	}
	return made, nil
}

// describe is the description of a package, whose files are read from a staging directory with
// their modes.
func (r *release) describe(p build.Platform, tree []file, format, work string) (*nfpm.Info, error) {
	info := &nfpm.Info{
		Name: "yuba", Arch: p.Arch, Platform: p.OS, Version: r.version.Plain, Release: "1",
		Section: "admin", Priority: "optional", Maintainer: "The Yuba Authors <maintainers@yuba.dev>", Vendor: "The Yuba Authors",
		Homepage: "https://github.com/yuba-dev/yuba", License: "Apache-2.0", MTime: r.date, DisableGlobbing: true,
		Description: "Control plane for OpenTofu\nPlans, reviews, applies and drift-checks any number of OpenTofu root modules from one server.",
	}
	scripts := filepath.Join(r.root, "tools", "release", "scripts")
	info.Scripts = nfpm.Scripts{PostInstall: filepath.Join(scripts, "postinstall"), PreRemove: filepath.Join(scripts, "preremove"), PostRemove: filepath.Join(scripts, "postremove")}
	info.Depends = []string{"ca-certificates"}
	info.Recommends = []string{"git", "openssh-client"}
	if format == "rpm" {
		info.Recommends = []string{"git-core", "openssh-clients"}
		info.RPM.BuildHost, info.RPM.Group, info.RPM.Summary = "yuba.dev", "Applications/System", "Control plane for OpenTofu"
		info.Depends = append(info.Depends, "shadow-utils")
	} else {
		info.Depends = append(info.Depends, "passwd")
	}
	for _, f := range tree {
		source, err := r.stage(f, work)
		if err != nil {
			return nil, err
		}
		path, kind := installed(f.name, format)
		info.Contents = append(info.Contents, &files.Content{
			Source: source, Destination: path, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: fs.FileMode(f.mode), MTime: r.date},
		})
	}
	return info, nil
}

// stage writes a file for packages.
func (r *release) stage(f file, work string) (string, error) {
	content, _, err := f.open()
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	_, err = text.ReadFrom(content)
	if err := errors.Join(err, content.Close()); err != nil {
		return "", err
	}
	if f.name == "systemd/yuba.service" {
		unit := strings.ReplaceAll(text.String(), "/usr/local/bin/", "/usr/bin/")
		text.Reset()
		text.WriteString(unit)
	}
	path := filepath.Join(work, filepath.FromSlash(f.name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, text.Bytes(), fs.FileMode(f.mode))
}
