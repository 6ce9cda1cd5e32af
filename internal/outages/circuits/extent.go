// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package circuits

import (
	"slices"
	"time"
)

// extent says where failures of a kind are an outage: everywhere (""), or in the last one's
// namespace. Neither a known outage nor the absence of known users elsewhere is evidence: after a
// start, hardly any stack's providers are known.
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

// newsOf reports whether a stack has the failure, and recently enough to count.
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

// same requires an equal cause, as needed to open a circuit.
func same(a, b Kind) bool { return a == b }

// couldHave reports whether a stack without the failure could have had it.
func couldHave(l *last, k Kind) bool {
	if k.Provider == "" {
		return true
	}
	return slices.Contains(l.providers, k.Provider)
}

// isOutage searches for a moment since which there is enough evidence and most stacks fail.
// Namespace "" means all; failures in known namespaces count only for the share.
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

// review shrinks or closes a circuit when most of its stacks succeed, or enough of them in
// namespaces without failures: failures that one tenant causes must not block others for long. It
// returns the stacks that are no longer members.
func (b *Book) review(c *Circuit, now time.Time) (changed bool, left []Stack) {
	if c.Mode != Automatic || !c.IsOpen() || c.Kind.Provider == "" {
		return false, nil
	}
	// since counts stacks whose success began after the opening and ended before a later failure.
	// Without a later failure they may be the first to see the end of the outage.
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
	// One or two successful probes are not a majority; they close the circuit by count.
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
