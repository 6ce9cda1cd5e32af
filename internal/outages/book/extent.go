// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"slices"
	"time"
)

// extent says where failures of a kind are an outage: everywhere (""), or in the namespace of the last one. What is known to
// be out already is no evidence that more is. That nobody is known to use the provider elsewhere is none, either: after a
// start hardly anybody is known.
func (b *Book) extent(k Kind, namespace string, known []string, now time.Time) (where string, ok bool) {
	several := false
	for s, l := range b.stacks {
		if several = s.Namespace != namespace && b.newsOf(l, k, now); several {
			break
		}
	}
	if several && b.isOutage(k, "", known, now) {
		return "", true
	}
	return namespace, b.isOutage(k, namespace, known, now)
}

// newsOf says whether a stack fails alike, and not for longer than what counts as news.
func (b *Book) newsOf(l *last, k Kind, now time.Time) bool {
	if l.failing == nil || !same(*l.failing, k) {
		return false
	}
	from := now.Add(-b.Options.Window)
	for _, c := range b.circuits {
		if c.like(k) && !c.IsOpen() && c.ClosedAt.After(from) {
			from = c.ClosedAt
		}
	}
	return l.since.After(from)
}

// same: to open a circuit, failures must be alike to the cause.
func same(a, b Kind) bool { return a == b }

// couldHave says whether a stack that did not fail alike could have.
func couldHave(l *last, k Kind) bool {
	if k.Provider == "" {
		return true
	}
	return slices.Contains(l.providers, k.Provider)
}

// isOutage looks for a moment since which there is enough evidence, and most fail. Namespace "" stands for all; failures in
// those that are known count for the share alone.
func (b *Book) isOutage(k Kind, namespace string, known []string, now time.Time) bool {
	type end struct {
		at       time.Time
		failed   bool
		evidence string
	}
	var ends []end
	for s, l := range b.stacks {
		switch {
		case namespace != "" && s.Namespace != namespace:
		case b.newsOf(l, k, now):
			e := end{at: l.since, failed: true}
			if !slices.Contains(known, s.Namespace) {
				e.evidence = l.evidence
			}
			ends = append(ends, e)
		case couldHave(l, k) && l.at.After(now.Add(-b.Options.Window)) && (l.succeeded || l.failing != nil):
			ends = append(ends, end{at: l.at})
		}
	}
	slices.SortFunc(ends, func(a, b end) int { return b.at.Compare(a.at) })
	evidence := map[string]bool{}
	failed := 0
	for i, e := range ends {
		if !e.failed {
			continue
		}
		failed++
		if e.evidence != "" {
			evidence[e.evidence] = true
		}
		if len(evidence) >= b.Options.Stacks && float64(failed) >= b.Options.Share*float64(i+1) {
			return true
		}
	}
	return false
}

// review makes a circuit smaller, or closes it, when most of those succeed whom it concerns, or enough where nobody fails:
// who brings failures about on purpose holds up nobody else for long, however many they are. It says whether it did, and who
// is a member no more.
func (b *Book) review(c *Circuit, now time.Time) (changed bool, left []Stack) {
	if c.Mode != Automatic || !c.IsOpen() || c.Kind.Provider == "" {
		return false, nil
	}
	// since are those who are fine, began after it had opened, and were over before others failed once more. As long as nobody
	// did, they may be the first to see its end.
	type count struct{ failed, fine, since int }
	counts := map[string]*count{}
	all := &count{}
	for s, l := range b.stacks {
		if !slices.Contains(l.providers, c.Kind.Provider) || !c.about(s.Namespace) || !l.at.After(c.OpenedAt) && c.members[s] == nil {
			continue
		}
		n := counts[s.Namespace]
		if n == nil {
			n = &count{}
			counts[s.Namespace] = n
		}
		switch {
		case c.members[s] != nil:
			n.failed++
			all.failed++
		case l.succeeded:
			n.fine++
			all.fine++
			if l.began.After(c.OpenedAt) && l.at.Before(c.failedAt) {
				n.since++
			}
		}
	}
	elsewhere := 0
	for _, n := range counts {
		if n.failed == 0 {
			elsewhere += n.since
		}
	}
	// A probe or two that succeeded are no majority: the circuit closes by those.
	few := func(n *count) bool {
		return n.fine >= max(b.Options.Stacks, 1) && float64(n.failed) < b.Options.Share*float64(n.failed+n.fine)
	}
	most := few(all)
	if !most && (all.failed == 0 || elsewhere < max(b.Options.Stacks, 1)) {
		return false, nil
	}
	var out []string
	for namespace, n := range counts {
		if n.failed > 0 && (!most || !few(n) && float64(n.failed) >= b.Options.Share*float64(n.failed+n.fine)) {
			out = append(out, namespace)
		}
	}
	slices.Sort(out)
	if len(out) == 0 {
		c.close(now, false)
		return true, nil
	}
	if slices.Equal(out, c.Namespaces) {
		return false, nil
	}
	c.Namespaces = out
	for s := range c.members {
		if !c.about(s.Namespace) {
			delete(c.members, s)
			left = append(left, s)
			if c.endProbe(s) {
				c.ProbeAt = now
			}
		}
	}
	return true, left
}
