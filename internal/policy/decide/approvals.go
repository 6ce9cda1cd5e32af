// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"strings"
	"time"
)

// approve compares the approvals with what is asked for.
func (d *Decision) approve(asks []Requirement, f *Facts) {
	var given []Approval
	for _, a := range f.Approvals {
		// One that is dated later belongs to a clock that is wrong.
		if a.User != "" && a.Bound == d.Bound && d.Bound != "" && !a.At.After(f.Now) {
			given = append(given, a)
		}
	}
	for _, ask := range asks {
		m, counting := weigh(ask, given, f)
		if m.Have < m.Count || len(m.OwnersMissing) > 0 {
			d.Missing = append(d.Missing, m)
		}
		for _, a := range counting {
			d.Approvers = append(d.Approvers, a.User)
		}
	}
	slices.Sort(d.Approvers)
	d.Approvers = slices.Compact(d.Approvers)
}

// weigh returns what one requirement has, and the approvals that count for it.
func weigh(ask Requirement, given []Approval, f *Facts) (m Missing, counting []Approval) {
	m.Requirement = ask
	if ask.NotAuthor && (len(f.Authors) == 0 || f.AuthorsUnknown != "") {
		m.Count++ // of so many people, at most one is the author
		m.AuthorsUnknown = f.AuthorsUnknown
	}
	counted, strangers, doubtful := map[string]bool{}, map[string]bool{}, 0
	for _, a := range given {
		if ask.NotAuthor && slices.ContainsFunc(f.Authors, func(author string) bool { return strings.EqualFold(author, a.User) }) {
			continue
		}
		if len(ask.Groups) > 0 && !slices.ContainsFunc(a.Groups, func(g string) bool { return slices.Contains(ask.Groups, g) }) {
			continue
		}
		counting = append(counting, a)
		if n := unlike(a.User, f.Authors); ask.NotAuthor && n > 0 {
			strangers[strings.ToLower(a.User)] = true
			doubtful = max(doubtful, n)
			continue
		}
		counted[strings.ToLower(a.User)] = true
	}
	// Each author under another kind of name may be one of the strangers.
	m.Have = len(counted) + max(0, len(strangers)-doubtful)
	if ask.Owners {
		if ask.OwnersUnknown != "" {
			m.OwnersMissing = append(m.OwnersMissing, []string{"an owner, who is not known: " + ask.OwnersUnknown})
		}
		for _, owners := range ask.OwnersOf {
			if !slices.ContainsFunc(counting, func(a Approval) bool { return owns(a, &owners) }) {
				m.OwnersMissing = append(m.OwnersMissing, owners.Names)
			}
		}
	}
	return m, counting
}

// unlike counts the authors whose names are of another kind than the user's: an e-mail address and
// the name of an account may belong to one person.
func unlike(user string, authors []string) int {
	n := 0
	seen := map[string]bool{}
	for _, author := range authors {
		if key := strings.ToLower(author); !seen[key] && strings.Contains(author, "@") != strings.Contains(user, "@") {
			seen[key] = true
			n++
		}
	}
	return n
}

// owns reports whether an approval is by one of the owners. As with authors, case does not make another
// person.
func owns(a Approval, owners *Owners) bool {
	return slices.ContainsFunc(owners.Users, func(user string) bool { return strings.EqualFold(user, a.User) }) ||
		slices.ContainsFunc(owners.Groups, func(group string) bool { return slices.Contains(a.Groups, group) })
}

// exemption returns the exemption that covers a finding; nil if there is none. Without an address,
// only one for all addresses does.
func (p *Policy) exemption(rule string, address *string, now time.Time) *Exemption {
	for i := range p.Exemptions {
		e := &p.Exemptions[i]
		if e.Reason == "" || !e.Expires.After(now) || len(e.Rules) > 0 && !slices.Contains(e.Rules, rule) {
			continue
		}
		if len(e.Addresses) == 0 || address != nil && slices.ContainsFunc(e.Addresses, func(pattern string) bool { return MatchesAddress(pattern, *address) }) {
			return e
		}
	}
	return nil
}

// Matches reports whether a pattern matches a text. "*" stands for any text; all other characters,
// brackets too, for themselves.
func Matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
