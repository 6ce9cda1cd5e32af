// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forge

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Address is where a repository is: https://host and owner/name.
type Address struct {
	// Server is the scheme, host and port. Addresses of ssh lead to https and no port.
	Server string
	// Path is the repository's path, without slashes at the ends and ".git".
	Path string
}

// Host is the server's host, with its port if it has one.
func (a Address) Host() string {
	_, host, _ := strings.Cut(a.Server, "://")
	return host
}

var (
	scpLike = regexp.MustCompile(`^(?:[A-Za-z0-9_.-]+@)?([A-Za-z0-9.-]+):([^/].*)$`)
	// segment is a part of a path. Azure DevOps has names with spaces.
	segment = regexp.MustCompile(`^[A-Za-z0-9_.~+ -]+$`)
)

var errAddress = errors.New("the repository's address must have the form https://HOST/OWNER/NAME, ssh://git@HOST/OWNER/NAME or git@HOST:OWNER/NAME, without a password")

// ParseAddress parses the address of a repository's page, or one of git. Its error does not repeat the address, which
// may have a password.
func ParseAddress(text string) (Address, error) {
	var a Address
	u, err := url.Parse(text)
	switch {
	case err == nil && u.Host != "" && u.Scheme == "ssh":
		a = Address{"https://" + u.Hostname(), u.Path}
	case err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https"):
		a = Address{u.Scheme + "://" + u.Host, u.Path}
	default:
		match := scpLike.FindStringSubmatch(text)
		if match == nil {
			return a, errAddress
		}
		a = Address{"https://" + match[1], match[2]}
	}
	a.Path = strings.TrimSuffix(strings.Trim(a.Path, "/"), ".git")
	parts := strings.Split(a.Path, "/")
	wrong := slices.ContainsFunc(parts, func(p string) bool { return !segment.MatchString(p) || p == "." || p == ".." })
	if len(parts) < 2 || wrong {
		return Address{}, errAddress
	}
	return a, nil
}
