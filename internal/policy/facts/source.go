// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"net/url"
	"path"
	"regexp"
	"strings"
)

// Kinds of sources of modules.
const (
	SourceLocal    = "local"
	SourceRegistry = "registry"
	SourceGit      = "git"
	SourceOther    = "other"
)

// Source is where a module comes from, in canonical form: two ways to write the same source are
// equal.
type Source struct {
	// Kind is local, registry, git or other.
	Kind string
	// Package is the source without the directory and the query: "registry.opentofu.org/acme/vpc/aws",
	// "git::https://github.com/acme/modules", "./network".
	Package string
	// Subdir is the directory in the package; empty for its root.
	Subdir string
	// Query has the settings of the getter that select what is fetched, such as ref.
	Query url.Values
}

// DefaultRegistry is the registry of a module's source without a host.
const DefaultRegistry = "registry.opentofu.org"

var (
	registrySource = regexp.MustCompile(`^(?:([0-9a-zA-Z.-]+(?:\.[0-9a-zA-Z-]+|:[0-9]+)(?::[0-9]+)?|localhost)/)?([0-9A-Za-z](?:[0-9A-Za-z_-]*[0-9A-Za-z])?)/([0-9A-Za-z](?:[0-9A-Za-z_-]*[0-9A-Za-z])?)/([0-9a-z]{1,64})$`)
	scpSource      = regexp.MustCompile(`^(?:([^@/:]+)@)?([0-9A-Za-z.-]+):([^/].*)$`)
	forcedGetter   = regexp.MustCompile(`^([A-Za-z0-9]+)::(.+)$`)
)

// String returns the canonical form.
func (s Source) String() string {
	text := s.Package
	if s.Subdir != "" {
		text += "//" + s.Subdir
	}
	if len(s.Query) > 0 {
		text += "?" + s.Query.Encode()
	}
	return text
}

// NormalizeSource returns the canonical form of a module's source.
func NormalizeSource(source string) string { return ParseSource(source).String() }

// ParseSource parses the source of a module, as the tool does. What it does not understand is a
// source of the kind other, as it is written.
func ParseSource(source string) Source {
	if local(source) {
		return Source{Kind: SourceLocal, Package: "./" + strings.TrimPrefix(path.Clean(source), "./")}
	}
	location, query, _ := strings.Cut(source, "?")
	location, subdir := splitSubdir(location)
	if subdir != "" {
		if subdir = path.Clean(subdir); subdir == "." {
			subdir = ""
		}
	}
	if m := registrySource.FindStringSubmatch(location); m != nil && query == "" && !forge(m[1]) {
		host := strings.TrimSuffix(strings.ToLower(m[1]), ":443")
		if host == "" {
			host = DefaultRegistry
		}
		return Source{Kind: SourceRegistry, Package: host + "/" + m[2] + "/" + m[3] + "/" + m[4], Subdir: subdir}
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Source{Kind: SourceOther, Package: source}
	}
	// They say how to fetch, and not what.
	values.Del("depth")
	values.Del("sshkey")
	s := Source{Subdir: subdir, Query: values}
	getter, address := "", location
	if m := forcedGetter.FindStringSubmatch(location); m != nil {
		getter, address = strings.ToLower(m[1]), m[2]
	}
	switch {
	case getter == "" && forge(firstOf(address)):
		// The first two names are the repository, the rest a directory in it.
		parts := strings.SplitN(address, "/", 4)
		if len(parts) < 3 {
			return Source{Kind: SourceOther, Package: source}
		}
		if len(parts) == 4 {
			if s.Subdir != "" {
				return Source{Kind: SourceOther, Package: source}
			}
			s.Subdir = path.Clean(parts[3])
		}
		getter, address = "git", "https://"+strings.Join(parts[:3], "/")
	case !strings.Contains(address, "://") && (getter == "" || getter == "git"):
		m := scpSource.FindStringSubmatch(address)
		if m == nil {
			return Source{Kind: SourceOther, Package: source}
		}
		getter, address = "git", "ssh://"+m[2]+"/"+m[3]
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.RawPath != "" || strings.Contains("/"+u.Path+"/", "/../") {
		return Source{Kind: SourceOther, Package: source}
	}
	s.Kind, s.Package = SourceOther, canonical(u)
	if getter == "git" {
		s.Kind, s.Package = SourceGit, strings.TrimSuffix(s.Package, ".git")
	}
	if getter != "" {
		s.Package = getter + "::" + s.Package
	}
	return s
}

// local reports whether a source is a path relative to its caller.
func local(source string) bool {
	return strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../")
}

// forge reports whether sources that begin with a host are git repositories there.
func forge(host string) bool {
	switch strings.ToLower(host) {
	case "github.com", "bitbucket.org", "gitlab.com":
		return true
	}
	return false
}

func firstOf(address string) string {
	first, _, _ := strings.Cut(address, "/")
	return first
}

// splitSubdir splits SOURCE//DIR; the slashes of a URL's scheme are none of it.
func splitSubdir(location string) (rest, subdir string) {
	from := 0
	if scheme := strings.Index(location, "://"); scheme >= 0 {
		from = scheme + 3
	}
	at := strings.Index(location[from:], "//")
	if at < 0 {
		return location, ""
	}
	return location[:from+at], strings.Trim(location[from+at+2:], "/")
}

// canonical writes a URL without what does not select the object: credentials, default ports, upper
// case in the host, repeated slashes.
func canonical(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.TrimSuffix(strings.ToLower(u.Host), ".")
	for s, port := range map[string]string{"https": ":443", "http": ":80", "ssh": ":22"} {
		if scheme == s {
			host = strings.TrimSuffix(host, port)
		}
	}
	clean := url.URL{Scheme: scheme, Host: host, Path: path.Clean("/" + u.Path)}
	return clean.String()
}
