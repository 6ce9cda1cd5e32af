// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/pullrequests/decide"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

const (
	// maxOwned limits the groups of owners of a stack, maxOwner the length of a name, and maxAsked the names of a group.
	maxOwned, maxOwner, maxAsked = 20, 200, 20
	// These stand for owners that cannot be found out: nobody is them.
	unknownOwners = "(unknown: CODEOWNERS cannot be read)"
	noOwners      = "(unknown: the target branch has no CODEOWNERS)"
	likeOwners    = "(unknown: names at this forge are not unique)"
)

// ownersFile is a CODEOWNERS. Without one, the place is empty.
type ownersFile struct {
	place   string
	content []byte
	err     error
	// commit is the commit that it is of, empty for whatever a branch has now.
	commit string
}

// codeowners asks for CODEOWNERS of a branch beside the pass. If owners must approve, that of the branch now counts.
// Otherwise it only says who is asked, and the one of the commit that the GitRepository has of the branch will do, which
// is asked for once.
func (r *Reconciler) codeowners(ctx context.Context, l *link, branch, revision string) (wait func() ownersFile) {
	if r.Owners == nil {
		return func() ownersFile { return ownersFile{} }
	}
	ref := branch
	if commit, ok := strings.CutPrefix(revision, branch+"@sha1:"); ok && !l.planner.Spec.Approvals.CodeOwners {
		if l.owners.commit == commit {
			return func() ownersFile { return l.owners }
		}
		ref = commit
	}
	file := aside(func() (f ownersFile, err error) {
		f.place, f.content, err = forge.Codeowners(ctx, l.forge, ref)
		return f, err
	})
	return func() ownersFile {
		f, err := file()
		if err != nil {
			f.err = err
		}
		if ref != branch && f.err == nil {
			f.commit = ref
			l.owners = f
		}
		return f
	}
}

// own finds the owners of the stacks' changed files, as CODEOWNERS of the branch to merge into says: who opens a pull
// request does not choose who must approve it.
func (r *Reconciler) own(l *link, p *pull, f *finding, file ownersFile) error {
	if r.Owners == nil || len(p.Stacks) == 0 {
		return nil
	}
	place, content, err := file.place, file.content, file.err
	required, unread := l.planner.Spec.Approvals.CodeOwners, unreadable(err)
	if err == nil || unread {
		p.OwnersOf = ownersVersion(place, content, unread)
	}
	switch {
	case required && l.forge.Kind() == forge.Bitbucket:
		p.ownedBy(likeOwners) // everybody chooses a nickname
		return nil
	case required && unread:
		p.ownedBy(unknownOwners)
		return nil
	case required && err == nil && place == "":
		p.ownedBy(noOwners)
		return nil
	case unread || err == nil && place == "":
		return nil
	case err != nil && !required:
		r.Log.Warn("cannot read CODEOWNERS", "source", p.Source, "pullRequest", p.Now.Number, "error", err)
		return nil
	case err != nil:
		return err
	}
	for _, s := range p.Stacks {
		files := s.Changed
		if len(s.Changed) == 0 || s.candidate().Manifest {
			files = f.changed // whatever makes its manifest is among them
		}
		if f.changed == nil {
			s.Owners = [][]string{{unknownOwners}}
			continue
		}
		groups, err := r.Owners(l.forge.Kind(), place, content, files)
		if err != nil || len(groups) > maxOwned {
			r.Log.Warn("cannot find the owners of a stack's files", "source", p.Source, "pullRequest", p.Now.Number, "stack", s.Name, "error", err)
			s.Owners = [][]string{{unknownOwners}}
			continue
		}
		s.Owners = printableOwners(groups)
	}
	return nil
}

// errOwnersMoved means that CODEOWNERS is another one than that which the owners of the stacks are from.
var errOwnersMoved = errors.New("the owners of the stacks must be found anew")

// sameOwners returns [errOwnersMoved] if CODEOWNERS at a branch or commit is another one than when the owners of the stacks
// were found, and owners must approve.
func (r *Reconciler) sameOwners(ctx context.Context, l *link, p *pull, ref string) error {
	if r.Owners == nil || !l.planner.Spec.Approvals.CodeOwners {
		return nil
	}
	place, content, err := forge.Codeowners(ctx, l.forge, ref)
	unread := unreadable(err)
	if err != nil && !unread {
		return fmt.Errorf("read CODEOWNERS at %s, whose owners must approve: %w", ref, err)
	}
	if ownersVersion(place, content, unread) != p.OwnersOf {
		return errOwnersMoved
	}
	return nil
}

// unreadable reports whether a forge cannot show CODEOWNERS at all.
func unreadable(err error) bool {
	var unsupported *forge.UnsupportedError
	return errors.As(err, &unsupported)
}

// ownersVersion identifies a CODEOWNERS.
func ownersVersion(place string, content []byte, unread bool) string {
	if unread {
		return "unreadable"
	}
	return digestOf(place + "\n" + string(content))
}

// ownedBy makes all stacks wait for an approval on the server.
func (p *pull) ownedBy(nobody string) {
	for _, s := range p.Stacks {
		s.Owners = [][]string{{nobody}}
	}
}

// printableOwners are groups of owners in one line each that fits a comment.
func printableOwners(groups [][]string) (out [][]string) {
	for _, group := range groups {
		var names []string
		for _, owner := range group[:min(len(group), maxAsked)] {
			names = append(names, text(owner, maxOwner))
		}
		out = append(out, names)
	}
	return out
}

// missingOwners are the owners of a stack of whom nobody approved, if they must.
func (l *link) missingOwners(s *stack, approvers []forge.User) []string {
	if l.planner == nil || !l.planner.Spec.Approvals.CodeOwners {
		return nil
	}
	return decide.MissingOwners(s.Owners, approvers)
}
