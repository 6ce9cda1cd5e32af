// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"fmt"
	"slices"
)

// Head is the last record of a chain, as somebody noted it.
type Head struct {
	Number int64  `json:"number"`
	Digest string `json:"digest"`
}

func (h Head) String() string { return fmt.Sprintf("%d %s", h.Number, h.Digest) }

// ParseHead reads what [Head.String] wrote.
func ParseHead(text string) (h Head, err error) {
	if _, err = fmt.Sscanf(text, "%d %s", &h.Number, &h.Digest); err != nil {
		err = fmt.Errorf("%q is not the number and the digest of an audit record", text)
	}
	return h, err
}

// Problem is a place at which a chain is broken.
type Problem struct {
	Namespace string `json:"namespace"`
	Stack     string `json:"stack"`
	Number    int64  `json:"number"`
	Message   string `json:"message"`
}

func (p Problem) String() string {
	return fmt.Sprintf("%s/%s record %d: %s", p.Namespace, p.Stack, p.Number, p.Message)
}

// Chain has the entries of one stack, in the order of their numbers.
type Chain struct {
	Namespace string  `json:"namespace"`
	Stack     string  `json:"stack"`
	Items     []Entry `json:"items"`
}

// Head returns the last record; the zero value of an empty chain.
func (c *Chain) Head() (h Head) {
	for _, e := range c.Items {
		if r, err := e.Decode(); err == nil {
			h = Head{Number: r.Number, Digest: e.Digest}
		}
	}
	return h
}

// Verify returns the places at which the chain is broken; none if it is whole. Heads were noted
// elsewhere: their records must be there, or be the end of a log in another home that this one
// continues.
func (c *Chain) Verify(heads ...Head) []Problem {
	var all []Problem
	report := func(n int64, format string, args ...any) {
		all = append(all, Problem{Namespace: c.Namespace, Stack: c.Stack, Number: n, Message: fmt.Sprintf(format, args...)})
	}
	// After a record that is missing or cannot be read, nobody knows what the next one should name.
	byNumber, next, link, known := map[int64]string{}, int64(1), "", true
	origins := c.Origins()
	for _, e := range c.Items {
		r, err := e.Decode()
		if err != nil {
			report(next, "it cannot be read: %s", err)
			known = false
			next++
			continue
		}
		if r.Number != next {
			switch {
			case r.Number > next+1:
				report(next, "records %d to %d are missing", next, r.Number-1)
			case r.Number > next:
				report(next, "it is missing")
			default:
				report(r.Number, "it stands where record %d should be", next)
			}
		} else if known && r.Previous != link {
			report(r.Number, "it does not continue the record before: one of the two was changed")
		}
		if e.Digest != e.Link() {
			report(r.Number, "its content does not have its digest: it was changed")
		}
		if r.Namespace != c.Namespace || r.Stack != c.Stack {
			report(r.Number, "it belongs to %s/%s", r.Namespace, r.Stack)
		}
		if r.Bound != nil && r.Bound.Hash() != r.BoundDigest {
			report(r.Number, "boundDigest is not the hash of bound")
		}
		byNumber[r.Number] = e.Digest
		next, link, known = r.Number+1, e.Link(), true
	}
	for _, h := range heads {
		switch digest, there := byNumber[h.Number]; {
		case slices.ContainsFunc(origins, func(o Origin) bool { return o.Head == h }):
		case !there && len(origins) > 0 || digest != h.Digest && len(origins) > 0:
			last := origins[len(origins)-1]
			report(h.Number, "it was noted as %s, and is not there: the log continues that of %s, which ended with record %s. Verify an export of that log up to there", h.Digest, last.Server, last.Head)
		case !there:
			report(h.Number, "it was noted as %s, and is not there: records were removed from the end", h.Digest)
		case digest != h.Digest:
			report(h.Number, "it was noted as %s, and is %s: it was exchanged", h.Digest, digest)
		}
	}
	slices.SortStableFunc(all, func(a, b Problem) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// Origins are the ends of logs in other homes that this one continues.
func (c *Chain) Origins() (all []Origin) {
	for _, e := range c.Items {
		if r, err := e.Decode(); err == nil && r.Kind == KindMoved && r.Origin != nil {
			all = append(all, *r.Origin)
		}
	}
	return all
}

// Continues reports whether this log continues a whole log of another home: one with that end.
func (c *Chain) Continues(earlier *Chain) bool {
	end := earlier.Head()
	return len(earlier.Verify()) == 0 && slices.ContainsFunc(c.Origins(), func(o Origin) bool { return o.Head == end })
}

// Elsewhere reports whether a record that somebody noted may be one of a log that this one continues.
func (c *Chain) Elsewhere(h Head) bool {
	return slices.ContainsFunc(c.Origins(), func(o Origin) bool { return h.Number <= o.Number }) &&
		!slices.ContainsFunc(c.Items, func(e Entry) bool { return e.Digest == h.Digest })
}
