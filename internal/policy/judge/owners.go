// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"
	"strings"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/policy/codeowners"
	"github.com/yuba-dev/yuba/internal/policy/decide"
)

// Owners are those who own the files of a stack by CODEOWNERS.
type Owners struct {
	Groups []codeowners.Group
	// Unknown says why they are not known; empty if they are.
	Unknown string
}

// WantsOwners reports whether a policy asks for owners.
func (b *Binding) WantsOwners() bool { return slices.ContainsFunc(b.policies, (*policy).wantsOwners) }

func (p *policy) wantsOwners() bool { return p.spec.Approvals != nil && p.spec.Approvals.Codeowners }

// OwnersOf are all that the policies ask for, in words and as people.
func (b *Binding) OwnersOf(o Owners) (paths []string, all []decide.Owners) {
	for _, p := range b.policies {
		if !p.wantsOwners() {
			continue
		}
		for i, who := range p.owners(o) {
			if !slices.ContainsFunc(all, func(a decide.Owners) bool {
				return slices.Equal(a.Names, who.Names) && slices.Equal(a.Users, who.Users) && slices.Equal(a.Groups, who.Groups)
			}) {
				paths, all = append(paths, o.Groups[i].Path), append(all, who)
			}
		}
	}
	return paths, all
}

// owners translates the names of CODEOWNERS by the mapping of the policy.
func (p *policy) owners(o Owners) (all []decide.Owners) {
	for _, g := range o.Groups {
		who := decide.Owners{Names: g.Owners}
		for _, name := range g.Owners {
			users, groups := person(p.spec.Approvals.Owners, name)
			who.Users, who.Groups = append(who.Users, users...), append(who.Groups, groups...)
		}
		all = append(all, who)
	}
	return all
}

// person says whom a name stands for. Names of the system are never taken as they are: everybody is in
// system:authenticated.
func person(mapping []yubav1.PolicyOwner, name string) (users, groups []string) {
	for _, m := range mapping {
		if strings.EqualFold(m.Name, name) {
			return m.Users, m.Groups
		}
	}
	own, isName := strings.CutPrefix(name, "@")
	switch {
	case strings.HasPrefix(strings.ToLower(own), "system:"), strings.HasPrefix(own, "@"):
		return nil, nil
	case !isName:
		return []string{name}, nil
	case strings.Contains(own, "/"):
		return nil, []string{own}
	}
	return []string{own}, []string{own}
}
