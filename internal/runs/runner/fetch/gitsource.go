// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
)

// gitSource is where a module comes from: a repository, and a branch or tag of it; without one it is the default branch.
type gitSource struct{ URL, ref string }

// gitURL is what the tool hands to git. Other protocols, as ext::, are not for us to try.
var gitURL = regexp.MustCompile(`^(https?|ssh|git)://[^/]`)

// ParseGitSource understands a source in the tool's own words, git::URL//DIR?ref=NAME.
func ParseGitSource(source string) (gitSource, error) {
	rest, isGit := strings.CutPrefix(source, "git::")
	if !isGit || !gitURL.MatchString(rest) {
		return gitSource{}, errors.New("the module does not come from git")
	}
	rest, query, _ := strings.Cut(rest, "?")
	scheme, rest, _ := strings.Cut(rest, "://")
	repository, _, _ := strings.Cut(rest, "//")
	values, err := url.ParseQuery(query)
	if err != nil {
		return gitSource{}, err
	}
	at := gitSource{scheme + "://" + repository, values.Get("ref")}
	for name, value := range values {
		if name != "ref" && name != "depth" || len(value) != 1 {
			return gitSource{}, fmt.Errorf("%q is not for git to understand", name)
		}
	}
	return at, nil
}

// Names are the references that may be meant.
func (s gitSource) Names() []string {
	if s.ref == "" {
		return []string{"HEAD"}
	}
	return []string{"refs/heads/" + s.ref, "refs/tags/" + s.ref, "refs/tags/" + s.ref + "^{}"}
}

// Commit reads which one the answer of the repository names. A name that a branch and a tag have is not for us to decide.
func (s gitSource) Commit(answer []byte) (string, error) {
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
	if peeled := found[names[2]]; peeled != "" { // a tag with a message is not the commit that it names
		tag = peeled
	}
	return branch + tag, nil
}

// SystemProgram is where a program of the machine is that every tofu may run.
func SystemProgram(name string) (string, error) {
	for _, dir := range filepath.SplitList(tools.SystemPath) {
		at := filepath.Join(dir, name)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return at, nil
		}
	}
	return "", fmt.Errorf("%s is not in %s", name, tools.SystemPath)
}

var commitName = regexp.MustCompile(`^[0-9a-f]{40}$`)

// commitOf is the commit of a fresh clone, empty when that is not plain to see.
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

// maxGitFile is more than such a file of an honest repository has.
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
