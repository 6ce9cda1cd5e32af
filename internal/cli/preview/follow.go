// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/preview/worktree"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
)

// followed is a GitRepository of the local repository that the change reaches.
type followed struct {
	repository *sourcev1.GitRepository
	// revision is its artifact's, commit the commit of it.
	revision, commit string
	stacks           []discover.Stack
	byName           map[string]*infrav1.Terraform
}

// skipped is what follows the local repository, and is not planned.
type skipped struct {
	// Name is of a GitRepository, NAMESPACE/NAME. Stacks are the stacks that follow it.
	Name   string   `json:"name"`
	Why    string   `json:"why"`
	Stacks []string `json:"stacks"`
	// Elsewhere is true if a merge to the target changes none of them.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// master is the branch of a GitRepository that names no reference.
const master = "master"

// branchOf is the branch that a GitRepository follows; empty with what it follows instead.
func branchOf(r *sourcev1.GitRepository) (branch, instead string) {
	ref := r.Spec.Reference
	switch {
	case ref == nil:
		return master, ""
	case ref.Commit != "":
		return "", "the commit " + ref.Commit
	case ref.Name != "":
		if branch, found := strings.CutPrefix(ref.Name, "refs/heads/"); found {
			return branch, ""
		}
		return "", ref.Name
	case ref.SemVer != "":
		return "", "the newest tag of " + ref.SemVer
	case ref.Tag != "":
		return "", "the tag " + ref.Tag
	}
	return cmp.Or(ref.Branch, master), ""
}

// ofClone are the GitRepositories with an address of the clone.
func ofClone(addresses []string, all []sourcev1.GitRepository) (list []*sourcev1.GitRepository) {
	for i := range all {
		if worktree.SameRepository(addresses, all[i].Spec.URL) {
			list = append(list, &all[i])
		}
	}
	return list
}

// chooseTarget is the branch that the change will be merged to: the wanted one, the current one if it
// is followed, else the remote's default, else the only one that is followed.
func chooseTarget(wanted, current, byDefault string, list []*sourcev1.GitRepository) (string, error) {
	var branches []string
	for _, r := range list {
		if branch, _ := branchOf(r); branch != "" && !slices.Contains(branches, branch) {
			branches = append(branches, branch)
		}
	}
	slices.Sort(branches)
	switch {
	case wanted != "":
		return wanted, nil
	case slices.Contains(branches, current):
		return current, nil
	case slices.Contains(branches, byDefault):
		return byDefault, nil
	case len(branches) == 1:
		return branches[0], nil
	case len(branches) == 0:
		return "", nil
	}
	return "", fmt.Errorf("GitRepositories follow several branches of this repository: %s. Say which one the change will be merged to: --target BRANCH", strings.Join(branches, ", "))
}

// elsewhere says what a GitRepository follows if it is not the target; empty if it is.
func elsewhere(r *sourcev1.GitRepository, target string) string {
	branch, instead := branchOf(r)
	switch branch {
	case "":
		return "it follows " + instead + ", which a merge does not change"
	case target:
		return ""
	}
	return "it follows the branch " + branch
}

// why says why the stacks of a GitRepository cannot be planned with a local tree; empty if they can.
func why(r *sourcev1.GitRepository) string {
	switch {
	case len(r.Spec.Include) > 0:
		return "it includes other repositories (spec.include)"
	case r.Spec.RecurseSubmodules:
		return "it has submodules (spec.recurseSubmodules)"
	case len(r.Spec.SparseCheckout) > 0:
		return "it has parts of the repository only (spec.sparseCheckout)"
	case r.Status.Artifact == nil:
		return "it has no revision yet"
	}
	return ""
}

// follow finds which stacks follow the clone, and which of them can be planned.
func follow(target string, clone []*sourcev1.GitRepository, all []sourcev1.GitRepository, stacks []infrav1.Terraform) (list []*followed, skips []skipped) {
	for _, r := range clone {
		f := &followed{repository: r, byName: map[string]*infrav1.Terraform{}}
		var names []string
		for j := range stacks {
			if t := &stacks[j]; follows(t, r) {
				f.stacks, f.byName[nameOf(t)] = append(f.stacks, stackOf(t)), t
				names = append(names, nameOf(t))
			}
		}
		slices.Sort(names)
		other := elsewhere(r, target)
		reason := cmp.Or(other, why(r))
		if reason != "" && len(names) > 0 {
			skips = append(skips, skipped{r.Namespace + "/" + r.Name, reason, names, other != ""})
		}
		if reason == "" {
			f.revision = r.Status.Artifact.Revision
			f.commit = f.revision[strings.LastIndexAny(f.revision, ":/")+1:]
			list = append(list, f)
		}
	}
	return list, append(skips, including(clone, all, stacks)...)
}

// including are the GitRepositories of other repositories that include the clone.
func including(clone []*sourcev1.GitRepository, all []sourcev1.GitRepository, stacks []infrav1.Terraform) (skips []skipped) {
	for i := range all {
		r := &all[i]
		if slices.Contains(clone, r) {
			continue
		}
		includes := slices.ContainsFunc(r.Spec.Include, func(in sourcev1.GitRepositoryInclude) bool {
			return slices.ContainsFunc(clone, func(c *sourcev1.GitRepository) bool {
				return c.Namespace == r.Namespace && c.Name == in.GitRepositoryRef.Name
			})
		})
		var names []string
		for j := range stacks {
			if includes && follows(&stacks[j], r) {
				names = append(names, nameOf(&stacks[j]))
			}
		}
		if len(names) > 0 {
			skips = append(skips, skipped{r.Namespace + "/" + r.Name, "it includes this repository in another one (spec.include)", names, false})
		}
	}
	return skips
}

func follows(t *infrav1.Terraform, r *sourcev1.GitRepository) bool {
	if _, inline := t.InlineProgram(); inline || t.Spec.SourceRef == nil {
		return false
	}
	return t.Spec.SourceRef.Kind == infrav1.SourceKindGitRepository && t.Spec.SourceRef.Name == r.Name && t.SourceNamespace() == r.Namespace
}

func nameOf(t *infrav1.Terraform) string { return t.Namespace + "/" + t.Name }

func stackOf(t *infrav1.Terraform) discover.Stack {
	s := discover.Stack{Name: nameOf(t), Path: t.Spec.Path}
	for _, name := range t.Spec.TfVarsFiles {
		// They are relative to the source's root, as those of tofu-controller.
		s.Also = append(s.Also, path.Join("/", name))
	}
	return s
}

// templated is the name of a file that a program is made of.
const templated = "main.tf.tpl"

// wholeIfTemplated lets all files count for stacks whose program is made of a template: nobody can say
// what it reads before it is made.
func wholeIfTemplated(stacks []discover.Stack, trees ...discover.Tree) {
	dirs := map[string]bool{}
	for _, t := range trees {
		for name := range t.Sums {
			if path.Base(name) == templated {
				dirs[path.Dir(name)] = true
			}
		}
	}
	for i := range stacks {
		dir := strings.TrimPrefix(path.Join("/", stacks[i].Path), "/")
		if dirs[cmp.Or(dir, ".")] {
			stacks[i].Rendered = map[string][]byte{"main.tf": nil}
		}
	}
}
