// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package codeowners

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// GiteaFile is a file in the syntax of Gitea and Forgejo: each line has a regular expression of whole paths, which begins
// with "!" if it must not match, and owners. All rules that match a path count, and everybody whom one names may approve.
type GiteaFile struct {
	Skipped     []string
	SkippedMore int

	rules []giteaRule
}

type giteaRule struct {
	pattern  *regexp.Regexp
	negative bool
	owners   []string
}

// ParseGitea reads a file in the syntax of Gitea. Go's regular expressions take linear time.
func ParseGitea(text []byte) (*GiteaFile, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("CODEOWNERS has more than %d bytes", MaxBytes)
	}
	f, skipped := &GiteaFile{}, &File{}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
			continue
		case len(line) > maxLine:
			return nil, fmt.Errorf("CODEOWNERS line %d has more than %d bytes", i+1, maxLine)
		case len(f.rules) >= maxRules:
			return nil, fmt.Errorf("CODEOWNERS has more than %d rules", maxRules)
		}
		fields := strings.Fields(withoutComment(line))
		if len(fields) == 0 {
			continue
		}
		owners, wrong := ownersOf(fields[1:])
		source, negative := strings.CutPrefix(fields[0], "!")
		pattern, err := regexp.Compile("^(?:" + source + ")$")
		if err != nil {
			wrong = "the pattern is not a regular expression"
		}
		if wrong != "" {
			skipped.skip(i+1, wrong)
			continue
		}
		f.rules = append(f.rules, giteaRule{pattern, negative, owners})
	}
	f.Skipped, f.SkippedMore = skipped.Skipped, skipped.SkippedMore
	return f, nil
}

// Owners are the groups of owners of files: those of all rules that match one.
func (f *GiteaFile) Owners(files []string) ([]Group, error) {
	switch {
	case len(files) > MaxPaths:
		return nil, fmt.Errorf("there are more than %d files", MaxPaths)
	case len(files)*len(f.rules) > maxSteps/10: // a match takes longer than one of the others
		return nil, fmt.Errorf("matching %d files takes too long", len(files))
	}
	var groups []Group
	for _, file := range files {
		file = strings.TrimPrefix(path.Clean("/"+file), "/")
		var owners []string
		for _, r := range f.rules {
			if r.pattern.MatchString(file) != r.negative {
				owners = append(owners, r.owners...)
			}
		}
		slices.Sort(owners)
		if owners = slices.Compact(owners); len(owners) == 0 {
			continue
		}
		if at := slices.IndexFunc(groups, func(g Group) bool { return slices.Equal(g.Owners, owners) }); at >= 0 {
			groups[at].More++
			continue
		}
		if len(groups) == maxGroups {
			return nil, fmt.Errorf("the files have more than %d groups of owners", maxGroups)
		}
		groups = append(groups, Group{Owners: owners, Path: file})
	}
	return groups, nil
}
