// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package codeowners

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Group are owners of whom one must approve.
type Group struct {
	Owners []string
	// Path is one of the paths that they own, and More counts the others. Section is GitLab's; empty for
	// none.
	Path    string
	More    int
	Section string
}

const (
	// MaxPaths limits the paths of one question, and maxGroups the groups of an answer.
	MaxPaths  = 20_000
	maxGroups = 30
	// maxSteps limits the matches of one question: rules times paths.
	maxSteps = 1_000_000
)

// Owners are the groups of owners of files, in the order of the paths.
func (f *File) Owners(files []string) ([]Group, error) {
	if len(files) > MaxPaths {
		return nil, fmt.Errorf("there are more than %d files", MaxPaths)
	}
	var groups []Group
	steps := 0
	for _, file := range files {
		file = strings.TrimPrefix(path.Clean("/"+file), "/")
		parts := strings.Split(file, "/")
		for _, s := range f.sections {
			if steps += len(s.rules) + len(s.excluded); steps > maxSteps {
				return nil, fmt.Errorf("matching %d files takes too long", len(files))
			}
			owners := s.of(parts)
			if s.optional || len(owners) == 0 {
				continue
			}
			at := slices.IndexFunc(groups, func(g Group) bool { return g.Section == s.name && slices.Equal(g.Owners, owners) })
			if at >= 0 {
				groups[at].More++
				continue
			}
			if len(groups) == maxGroups {
				return nil, fmt.Errorf("the files have more than %d groups of owners", maxGroups)
			}
			groups = append(groups, Group{Owners: owners, Path: file, Section: s.name})
		}
	}
	return groups, nil
}

// of are the owners of a path in the section: those of the last rule that matches.
func (s *section) of(parts []string) []string {
	matches := func(p pattern) bool { return p.matches(parts) }
	if slices.ContainsFunc(s.excluded, matches) {
		return nil
	}
	for _, r := range slices.Backward(s.rules) {
		if !r.pattern.matches(parts) {
			continue
		}
		if len(r.owners) == 0 {
			return s.owners
		}
		return r.owners
	}
	return nil
}

// pattern is a pattern as .gitignore has it, without "!" and ranges of characters. Its parts match the
// directories of a path and its name; "**" stands for any number of them.
type pattern struct {
	parts []string
	// below: it matches what is below a directory of that name, too; only: it does not match a file.
	below, only bool
}

// compile reads a pattern. Without a slash at its beginning, GitLab finds it in all directories, and
// GitHub only if there is none in its middle either.
func compile(text string, gitlab bool) (p pattern, wrong string) {
	switch {
	case text == "" || text == "/":
		return p, "the pattern is empty"
	case strings.ContainsAny(text, "[]\\"):
		return p, fmt.Sprintf("the pattern %.60q has brackets or a backslash, which CODEOWNERS does not have", text)
	}
	inside := strings.Contains(strings.TrimSuffix(text, "/"), "/")
	anchored := strings.HasPrefix(text, "/") || inside && !gitlab
	p.only = strings.HasSuffix(text, "/")
	p.below = true
	text = strings.Trim(text, "/")
	for _, part := range strings.Split(text, "/") {
		if part == "" || part == "**" && len(p.parts) > 0 && p.parts[len(p.parts)-1] == "**" {
			continue
		}
		p.parts = append(p.parts, part)
	}
	const most = 64
	if len(p.parts) > most {
		return p, fmt.Sprintf("the pattern has more than %d parts", most)
	}
	// "docs/*" owns the files of a directory, and not those below.
	if last := p.parts[len(p.parts)-1]; inside && last == "*" && !p.only {
		p.below = false
	}
	if !anchored {
		p.parts = append([]string{"**"}, p.parts...)
	}
	return p, ""
}

// matches reports whether the pattern matches a file or a directory above it.
func (p pattern) matches(parts []string) bool {
	if !p.only && matchParts(p.parts, parts) {
		return true
	}
	if !p.below {
		return false
	}
	for n := 1; n < len(parts); n++ {
		if matchParts(p.parts, parts[:n]) {
			return true
		}
	}
	return false
}

// matchParts matches all of a path, in time that is linear in the product of the lengths: after "**" only
// the last one is tried again.
func matchParts(pattern, parts []string) bool {
	p, n, star, resume := 0, 0, -1, 0
	for n < len(parts) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, resume = p, n
			p++
		case p < len(pattern) && matchName(pattern[p], parts[n]):
			p++
			n++
		case star >= 0:
			resume++
			p, n = star+1, resume
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" && p > 0 {
		p++
	}
	return p == len(pattern)
}

// matchName matches one name; "*" stands for any text and "?" for one character.
func matchName(pattern, name string) bool {
	p, n, star, resume := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			resume++
			p, n = star+1, resume
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
