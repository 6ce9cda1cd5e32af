// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"sort"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/fluxcd/pkg/version"
	"github.com/go-git/go-git/v5/plumbing"
)

// defaultBranch is Flux's default, whatever the repository's own default is.
const defaultBranch = "master"

const peeledSuffix = "^{}"

// target is the commit of a reference.
type target struct {
	// name precedes the commit in a revision; empty for a commit without a name.
	name string
	// want is the object that the reference names, such as a tag; commit is its commit.
	want, commit plumbing.Hash
	// tag is the name of the tag that leads to the commit; empty if there is none.
	tag string
	// pinned is true if the commit was named by its hash: no reference may lead to it.
	pinned bool
}

// revision returns the revision in Flux's format.
func (t target) revision() string {
	if t.name == "" {
		return "sha1:" + t.commit.String()
	}
	return t.name + "@sha1:" + t.commit.String()
}

// resolve returns the commits of ref among the references of a repository. There are several only
// if versions differ only in their build metadata: then the times of the commits decide.
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
		err = wrongRef("%v, the default; name another one in ref.branch", err)
	}
	return targets, err
}

func (a *advert) branch(name string) ([]target, error) {
	hash, has := a.refs["refs/heads/"+name]
	if !has {
		return nil, wrongRef("there is no branch %q", name)
	}
	return []target{{name: name, want: hash, commit: hash}}, nil
}

func (a *advert) tag(name string) ([]target, error) {
	found, has := a.lookTag("refs/tags/" + name)
	if !has {
		return nil, wrongRef("there is no tag %q", name)
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

// named finds a reference by its full name, which becomes part of the revision.
func (a *advert) named(name string) ([]target, error) {
	if strings.HasPrefix(name, "/") || strings.HasSuffix(name, "/") {
		return nil, impossible("the name of the reference %q begins or ends with a slash", name)
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
	return nil, wrongRef("there is no reference %q; write its full name, such as refs/heads/main", name)
}

func (a *advert) commit(ref Ref) ([]target, error) {
	hash := plumbing.NewHash(ref.Commit)
	if len(ref.Commit) != 40 || hash.String() != strings.ToLower(ref.Commit) {
		return nil, impossible("%q is not a commit; its hash has 40 hexadecimal digits", ref.Commit)
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

// highest returns the tags of the highest version in a range.
func (a *advert) highest(text string) ([]target, error) {
	constraint, err := semver.NewConstraint(text)
	if err != nil {
		return nil, impossible("%q is not a version range: %v", text, err)
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
		return nil, wrongRef("none of its %d tags is a version in the range %q", tags, text)
	}
	sort.Slice(found, func(i, j int) bool { return found[i].name < found[j].name })
	return found, nil
}
