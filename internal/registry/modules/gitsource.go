// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// GitSource is a git repository with a branch or tag, or its default branch.
type GitSource struct{ URL, ref string }

// gitURL matches what the tool passes to git. Other protocols, such as ext::, may run programs.
var gitURL = regexp.MustCompile(`^(https?|ssh|git)://[^/]`)

// ParseGitSource parses a source in the tool's notation, git::URL//DIR?ref=NAME.
func ParseGitSource(source string) (GitSource, error) {
	rest, isGit := strings.CutPrefix(source, "git::")
	if !isGit || !gitURL.MatchString(rest) {
		return GitSource{}, errors.New("the module does not come from git")
	}
	rest, query, _ := strings.Cut(rest, "?")
	scheme, rest, _ := strings.Cut(rest, "://")
	repository, _, _ := strings.Cut(rest, "//")
	values, err := url.ParseQuery(query)
	if err != nil {
		return GitSource{}, err
	}
	at := GitSource{scheme + "://" + repository, values.Get("ref")}
	for name, value := range values {
		if name != "ref" && name != "depth" || len(value) != 1 {
			return GitSource{}, fmt.Errorf("%q is not a setting of git", name)
		}
	}
	return at, nil
}

// Names returns the references that the name may stand for, as arguments of git ls-remote.
func (s GitSource) Names() []string {
	if s.ref == "" {
		return []string{"HEAD"}
	}
	return []string{"refs/heads/" + s.ref, "refs/tags/" + s.ref, "refs/tags/" + s.ref + "^{}"}
}

// Commit returns the commit in the output of git ls-remote. A name of both a branch and a tag is an error.
func (s GitSource) Commit(answer []byte) (string, error) {
	found := map[string]string{}
	for line := range bytes.Lines(answer) {
		commit, name, _ := strings.Cut(strings.TrimSpace(string(line)), "\t")
		found[name] = commit
	}
	names := s.Names()
	if s.ref == "" {
		return found[names[0]], nil
	}
	branch, tag := found[names[0]], found[names[1]]
	if branch != "" && tag != "" {
		return "", fmt.Errorf("%s is a branch and a tag", s.ref)
	}
	if peeled := found[names[2]]; peeled != "" { // an annotated tag has an object of its own
		tag = peeled
	}
	return branch + tag, nil
}

// commitOf returns the commit of a fresh clone; empty if it is not known.
func commitOf(files fs.FS, dir string) string {
	head := gitFile(files, dir, "HEAD")
	name, symbolic := strings.CutPrefix(head, "ref: ")
	if symbolic {
		head = ""
		if strings.HasPrefix(name, "refs/heads/") && fs.ValidPath(name) {
			head = gitFile(files, dir, name)
		}
		if head == "" {
			head = packedRef(gitFile(files, dir, "packed-refs"), name)
		}
	}
	if !commitName.MatchString(head) {
		return ""
	}
	return head
}

func packedRef(packed, name string) string {
	for line := range strings.Lines(packed) {
		if commit, ref, _ := strings.Cut(strings.TrimSpace(line), " "); ref == name {
			return commit
		}
	}
	return ""
}

// maxGitFile limits the files that are read in .git.
const maxGitFile = 4 << 20

func gitFile(files fs.FS, dir, name string) string {
	at := path.Join(dir, ".git", name)
	info, err := fs.Stat(files, at)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxGitFile {
		return ""
	}
	text, err := fs.ReadFile(files, at)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
