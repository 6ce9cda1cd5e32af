// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// The version of Debian that the images use.
const (
	debianRelease = "trixie"
	debianVersion = "13"
	debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
)

// absent are packages that the images do without, although others depend on them. They serve
// maintainer scripts, which do not run, and git's commands for mail and Subversion.
var absent = []string{"adduser", "awk", "debconf", "init-system-helpers", "openssl", "passwd", "perl"}

// apt downloads packages of Debian into a directory of its own.
type apt struct {
	dir string
	// snapshot is a time of snapshot.debian.org, such as 20261101T000000Z; empty for the newest packages.
	snapshot string
	news     io.Writer
}

// debianPackage is a package of Debian: its description, and its files as a tar archive.
type debianPackage struct {
	name, version, arch string
	control             string
	files               []byte
}

// fetch downloads packages and their dependencies for an architecture.
func (a apt) fetch(ctx context.Context, arch string, names []string) ([]debianPackage, error) {
	if _, err := os.Stat(debianKeyring); err != nil {
		return nil, fmt.Errorf("find Debian's keys: %w. On Debian or Ubuntu:\n    apt-get install apt dpkg debian-archive-keyring", err)
	}
	dir := filepath.Join(a.dir, arch)
	if err := a.configure(ctx, dir, arch); err != nil {
		return nil, err
	}
	fmt.Fprintf(a.news, "Downloading packages of Debian for %s\n", arch)
	if _, err := aptGet(ctx, dir, "update"); err != nil {
		return nil, err
	}
	install := append([]string{"--yes", "--no-install-recommends", "install"}, names...)
	list, err := aptGet(ctx, dir, append([]string{"--simulate"}, install...)...)
	if err != nil {
		return nil, err
	}
	if _, err := aptGet(ctx, dir, append([]string{"--download-only"}, install...)...); err != nil {
		return nil, err
	}
	packages := parseInstalled(list)
	for i := range packages {
		if err := packages[i].read(ctx, filepath.Join(dir, "archives")); err != nil {
			return nil, err
		}
	}
	return packages, nil
}

// configure writes the configuration of apt, for a system in which only the absent packages are
// installed.
func (a apt) configure(ctx context.Context, dir, arch string) error {
	network, err := exec.CommandContext(ctx, "apt-config", "dump", "Acquire").Output()
	if err != nil {
		return fmt.Errorf("read the configuration of apt: %w", err)
	}
	var status strings.Builder
	for _, name := range absent {
		fmt.Fprintf(&status, "Package: %s\nStatus: install ok installed\nMulti-Arch: allowed\nArchitecture: %s\nVersion: 99:0\nMaintainer: nobody\nDescription: absent\n\n", name, arch)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "lists", "partial"), 0o755), os.MkdirAll(filepath.Join(dir, "archives", "partial"), 0o755)); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"apt.conf": aptConfiguration(dir, arch) + networkSettings(string(network)), "debian.sources": aptSources(a.snapshot), "status": status.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// aptConfiguration has all paths of apt in one directory, and none of the machine's hooks.
func aptConfiguration(dir, arch string) string {
	var text strings.Builder
	for _, setting := range [][2]string{
		{"APT::Architecture", arch}, {"APT::Architectures", arch}, {"APT::Sandbox::User", "root"},
		{"Acquire::Languages", "none"}, {"Acquire::Retries", "3"}, {"APT::Get::List-Cleanup", "true"},
		{"Dir::Etc::main", "/dev/null"}, {"Dir::Etc::parts", dir + "/none"},
		{"Dir::Etc::sourcelist", dir + "/debian.sources"}, {"Dir::Etc::sourceparts", dir + "/none"},
		{"Dir::Etc::trusted", "/dev/null"}, {"Dir::Etc::trustedparts", dir + "/none"},
		{"Dir::Etc::preferences", "/dev/null"}, {"Dir::Etc::preferencesparts", dir + "/none"},
		{"Dir::State", dir}, {"Dir::State::status", dir + "/status"}, {"Dir::State::lists", dir + "/lists"},
		{"Dir::Cache", dir}, {"Dir::Cache::archives", dir + "/archives"}, {"Dir::Log", dir},
	} {
		fmt.Fprintf(&text, "%s %q;\n", setting[0], setting[1])
	}
	return text.String()
}

// networkSettings are the machine's proxies and mirrors' rules.
func networkSettings(dump string) string {
	var text strings.Builder
	for line := range strings.Lines(dump) {
		for _, prefix := range []string{"Acquire::http::", "Acquire::https::", "Acquire::Check-"} {
			if strings.HasPrefix(line, prefix) {
				text.WriteString(line)
			}
		}
	}
	return text.String()
}

// aptSources names Debian's servers.
func aptSources(snapshot string) string {
	server, rest, extra := "http://deb.debian.org/", "", ""
	if snapshot != "" {
		server, rest, extra = "http://snapshot.debian.org/archive/", "/"+snapshot+"/", "Check-Valid-Until: no\n"
	}
	var text strings.Builder
	for _, s := range [][2]string{
		{"debian", debianRelease + " " + debianRelease + "-updates"}, {"debian-security", debianRelease + "-security"},
	} {
		fmt.Fprintf(&text, "Types: deb\nURIs: %s%s%s\nSuites: %s\nComponents: main\nSigned-By: %s\n%s\n", server, s[0], rest, s[1], debianKeyring, extra)
	}
	return text.String()
}

// aptGet runs apt-get with the configuration in a directory.
func aptGet(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"--quiet=2"}, args...)...)
	cmd.Env = []string{"LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", "PATH=" + os.Getenv("PATH"), "APT_CONFIG=" + filepath.Join(dir, "apt.conf")}
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy"} {
		if value := os.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	var errText strings.Builder
	cmd.Stderr = &errText
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("apt-get %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errText.String()))
	}
	return string(out), nil
}

var installed = regexp.MustCompile(`(?m)^Inst (\S+) \((\S+) .*\[(\S+)\]\)`)

// parseInstalled reads the output of apt-get --simulate: Inst git (1:2.47.3-0 Debian:13.1/stable [amd64])
func parseInstalled(list string) []debianPackage {
	var packages []debianPackage
	for _, found := range installed.FindAllStringSubmatch(list, -1) {
		name, _, _ := strings.Cut(found[1], ":")
		packages = append(packages, debianPackage{name: name, version: found[2], arch: found[3]})
	}
	return packages
}

// read reads a downloaded package.
func (p *debianPackage) read(ctx context.Context, dir string) error {
	path := filepath.Join(dir, p.name+"_"+strings.ReplaceAll(p.version, ":", "%3a")+"_"+p.arch+".deb")
	control, err := exec.CommandContext(ctx, "dpkg-deb", "--field", path).Output()
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	p.control = string(control)
	if p.files, err = exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", path).Output(); err != nil {
		return fmt.Errorf("unpack %s: %w", path, err)
	}
	return nil
}
