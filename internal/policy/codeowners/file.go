// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package codeowners

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Limits of a file.
const (
	// MaxBytes limits a file; GitHub reads 3 MB.
	MaxBytes = 1 << 20
	maxLine  = 2 << 10
	maxRules = 10_000
	// maxOwners limits the owners of a rule.
	maxOwners = 100
)

// Places are where a file may be, the one that counts first.
var Places = []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"}

// File is a file that was read.
type File struct {
	// Skipped describes lines that cannot be read, at most 5; SkippedMore counts the others.
	Skipped     []string
	SkippedMore int

	sections []*section
}

type section struct {
	name     string
	optional bool
	owners   []string
	rules    []rule
	// excluded are patterns whose paths have no owners in the section.
	excluded []pattern
}

type rule struct {
	pattern pattern
	owners  []string
}

// sections finds a heading in a whole file.
var sections = regexp.MustCompile(`(?m)^[ \t]*\^?\[[^\]\n]{1,255}\](\[[0-9]{1,3}\])?[ \t\r]*(\s|$)`)

// heading is "[Name]", "^[Name]" and "[Name][2]". Owners may follow.
var heading = regexp.MustCompile(`^(\^)?\[([^\]]{1,255})\](?:\[[0-9]{1,3}\])?(?:\s+(.*))?$`)

// Parse reads a file from one of the places.
func Parse(place string, text []byte) (*File, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", place, MaxBytes)
	}
	gitlab := strings.HasPrefix(place, ".gitlab/") || sections.Match(text)
	current := &section{}
	f := &File{sections: []*section{current}}
	rules := 0
	for i, line := range strings.Split(string(text), "\n") {
		number := i + 1
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
			continue
		case len(line) > maxLine:
			return nil, fmt.Errorf("CODEOWNERS line %d has more than %d bytes", number, maxLine)
		}
		if found := heading.FindStringSubmatch(line); found != nil {
			current = f.section(found[2], found[1] != "")
			if owners, wrong := ownersOf(strings.Fields(withoutComment(found[3]))); wrong != "" {
				f.skip(number, wrong)
			} else if len(owners) > 0 {
				current.owners = owners
			}
			continue
		}
		if rules++; rules > maxRules {
			return nil, fmt.Errorf("CODEOWNERS has more than %d rules", maxRules)
		}
		if wrong := current.add(line, gitlab); wrong != "" {
			f.skip(number, wrong)
		}
	}
	return f, nil
}

// section returns a section by its name, which GitLab compares without case.
func (f *File) section(name string, optional bool) *section {
	for _, s := range f.sections {
		if s.name != "" && strings.EqualFold(s.name, name) {
			s.optional = s.optional && optional // sections of one name are one, and required if one is
			return s
		}
	}
	s := &section{name: name, optional: optional}
	f.sections = append(f.sections, s)
	return s
}

// add adds a line to the section, or says why it cannot be read.
func (s *section) add(line string, gitlab bool) (wrong string) {
	excludes := line[0] == '!'
	text, rest := firstField(strings.TrimPrefix(line, "!"))
	p, wrong := compile(text, gitlab)
	if wrong != "" {
		return wrong
	}
	if excludes && !gitlab {
		return "GitHub has no patterns that begin with \"!\""
	}
	if excludes {
		s.excluded = append(s.excluded, p)
		return ""
	}
	owners, wrong := ownersOf(strings.Fields(withoutComment(rest)))
	if wrong != "" {
		return wrong
	}
	s.rules = append(s.rules, rule{p, owners})
	return ""
}

// firstField splits a line after its pattern, in which "\ " is a blank and "\#" a number sign.
func firstField(line string) (field, rest string) {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && strings.IndexByte(" #!", line[i+1]) >= 0:
			i++
			b.WriteByte(line[i])
		case c == ' ' || c == '\t':
			return b.String(), line[i:]
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

func withoutComment(text string) string {
	if at := strings.Index(" "+text, " #"); at >= 0 {
		return text[:max(0, at)]
	}
	return text
}

// ownersOf checks owners. One that cannot be read makes the line unreadable, as with GitHub.
func ownersOf(fields []string) (owners []string, wrong string) {
	if len(fields) > maxOwners {
		return nil, fmt.Sprintf("it has more than %d owners", maxOwners)
	}
	for _, field := range fields {
		at := strings.IndexByte(field, '@')
		if at < 0 || at == len(field)-1 || strings.Count(field, "@") > 2 {
			return nil, fmt.Sprintf("%.60q is neither @user, @organisation/team nor an e-mail address", field)
		}
		if !slices.Contains(owners, field) {
			owners = append(owners, field)
		}
	}
	return owners, ""
}

func (f *File) skip(number int, wrong string) {
	const most = 5
	if len(f.Skipped) == most {
		f.SkippedMore++
		return
	}
	f.Skipped = append(f.Skipped, fmt.Sprintf("line %d: %s", number, wrong))
}
