// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package worktree

import (
	"net/url"
	"path"
	"regexp"
	"strings"
)

// scpLike is USER@HOST:PATH.
var scpLike = regexp.MustCompile(`^(?:[^@/:\s]+@)?([A-Za-z0-9.-]+):([^\s]+)$`)

// usual are the ports that say nothing.
var usual = map[string]bool{"": true, "22": true, "80": true, "443": true}

// Address is what identifies a repository: HOST[:PORT]/PATH in lower case, without user, password and
// ".git". A local repository has its path. It is false for what is not an address.
//
// The port of ssh is not that of https, so it does not count. Hosts of code do not tell owners and
// names apart by their case.
func Address(text string) (string, bool) {
	u, err := url.Parse(text)
	switch {
	case err == nil && u.Scheme == "file":
		return local(u.Path)
	case err == nil && u.Host != "" && u.Scheme != "":
		host := strings.ToLower(u.Hostname())
		if port := u.Port(); !usual[port] && u.Scheme != "ssh" {
			host += ":" + port
		}
		return within(host, u.Path)
	case strings.HasPrefix(text, "/"):
		return local(text)
	}
	if match := scpLike.FindStringSubmatch(text); match != nil && !strings.HasPrefix(match[2], "//") {
		return within(strings.ToLower(match[1]), match[2])
	}
	return "", false
}

func within(host, name string) (string, bool) {
	name = strings.TrimSuffix(strings.Trim(path.Clean("/"+name), "/"), ".git")
	if name == "" {
		return "", false
	}
	return host + "/" + strings.ToLower(name), true
}

func local(name string) (string, bool) {
	name = strings.TrimSuffix(path.Clean(name), "/.git")
	return strings.TrimSuffix(name, ".git"), name != "" && name != "."
}

// SameRepository reports whether an address is among those of a clone. An ssh port is unknown to
// https, so a host with a port is also compared without it.
func SameRepository(addresses []string, text string) bool {
	address, ok := Address(text)
	if !ok {
		return false
	}
	for _, a := range addresses {
		if a == address || withoutPort(a) == address || a == withoutPort(address) {
			return true
		}
	}
	return false
}

func withoutPort(address string) string {
	host, rest, _ := strings.Cut(address, "/")
	if name, _, found := strings.Cut(host, ":"); found {
		return name + "/" + rest
	}
	return address
}
