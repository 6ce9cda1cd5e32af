// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/fluxcd/pkg/version"
	"github.com/go-git/go-git/v5/plumbing"
)

// defaultBranch is what Flux takes when nothing is said, whatever the repository's own default is.
const defaultBranch = "master"

const peeledSuffix = "^{}"

// target is a commit that a reference leads to.
type target struct {
	// name is what stands before the commit in a revision; empty for a commit alone.
	name string
	// want is the object that the reference names, a tag perhaps; commit is the commit behind it.
	want, commit plumbing.Hash
	// tag is the tag's name when a tag leads to the commit.
	tag string
	// pinned says that the commit was named by its hash: nothing else leads to it, perhaps.
	pinned bool
}

// revision is how Flux names what was found.
func (t target) revision() string {
	if t.name == "" {
		return "sha1:" + t.commit.String()
	}
	return t.name + "@sha1:" + t.commit.String()
}

// refError says why a reference leads nowhere. Wrong is true when no repository could have it.
type refError struct {
	text  string
	wrong bool
}

func (e *refError) Error() string { return e.text }

// resolve finds the commits that ref leads to among the references of a repository. They are more
// than one only when versions differ in nothing but what follows their plus: then the commits'
// times decide.
func resolve(given *advert, ref Ref) ([]target, error) {
	switch {
	case ref.Commit != "":
		return given.commit(ref)
	case ref.Name != "":
		return given.named(ref.Name)
	case ref.Tag != "":
		return given.tag(ref.Tag)
	case ref.SemVer != "":
		return given.highest(ref.SemVer)
	case ref.Branch != "":
		return given.branch(ref.Branch)
	}
	targets, err := given.branch(defaultBranch)
	if err != nil {
		err = errors.Join(err, errors.New("nothing else was asked for; name another one in ref.branch"))
	}
	return targets, err
}

func (a *advert) branch(name string) ([]target, error) {
	hash, has := a.refs["refs/heads/"+name]
	if !has {
		return nil, &refError{text: fmt.Sprintf("there is no branch %q", name)}
	}
	return []target{{name: name, want: hash, commit: hash}}, nil
}

func (a *advert) tag(name string) ([]target, error) {
	found, has := a.lookTag("refs/tags/" + name)
	if !has {
		return nil, &refError{text: fmt.Sprintf("there is no tag %q", name)}
	}
	found.name = name
	return []target{found}, nil
}

func (a *advert) lookTag(full string) (target, bool) {
	hash, has := a.refs[full]
	if !has {
		return target{}, false
	}
	found := target{want: hash, commit: hash, tag: strings.TrimPrefix(full, "refs/tags/")}
	if peeled, annotated := a.peeled[full]; annotated {
		found.commit = peeled
	}
	return found, true
}

// named takes the full name of a reference, which then stands in the revision as it is.
func (a *advert) named(name string) ([]target, error) {
	if strings.HasPrefix(name, "/") || strings.HasSuffix(name, "/") {
		return nil, &refError{text: fmt.Sprintf("the name of the reference %q begins or ends with a slash", name), wrong: true}
	}
	plain := strings.TrimSuffix(name, peeledSuffix)
	if strings.HasPrefix(plain, "refs/tags/") {
		if found, has := a.lookTag(plain); has {
			found.name = name
			return []target{found}, nil
		}
	} else if hash, has := a.refs[name]; has {
		return []target{{name: name, want: hash, commit: hash}}, nil
	}
	return nil, &refError{text: fmt.Sprintf("there is no reference %q; write its full name, such as refs/heads/main", name)}
}

func (a *advert) commit(ref Ref) ([]target, error) {
	hash := plumbing.NewHash(ref.Commit)
	if len(ref.Commit) != 40 || hash.String() != strings.ToLower(ref.Commit) {
		return nil, &refError{text: fmt.Sprintf("%q is not a commit; its hash has 40 hexadecimal digits", ref.Commit), wrong: true}
	}
	found := target{want: hash, commit: hash, pinned: true}
	switch {
	case ref.Name != "":
		found.name = ref.Name
	case ref.Branch != "":
		if _, err := a.branch(ref.Branch); err != nil {
			return nil, err
		}
		found.name = ref.Branch
	}
	return []target{found}, nil
}

// highest finds the tag with the highest version in a range.
func (a *advert) highest(text string) ([]target, error) {
	constraint, err := semver.NewConstraint(text)
	if err != nil {
		return nil, &refError{text: fmt.Sprintf("%q is not a version range: %v", text, err), wrong: true}
	}
	var best *semver.Version
	var found []target
	tags := 0
	for full := range a.refs {
		name, isTag := strings.CutPrefix(full, "refs/tags/")
		if !isTag {
			continue
		}
		tags++
		v, err := version.ParseVersion(name)
		if err != nil || !constraint.Check(v) || best != nil && v.LessThan(best) {
			continue
		}
		if best == nil || v.GreaterThan(best) {
			best, found = v, nil
		}
		one, _ := a.lookTag(full)
		one.name = name
		found = append(found, one)
	}
	if len(found) == 0 {
		return nil, &refError{text: fmt.Sprintf("none of its %d tags is a version in the range %q", tags, text)}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].name < found[j].name })
	return found, nil
}
