// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// copied is one of several copies of a claim, each in a home that does not know of the others.
type copied struct {
	uid          string
	former       []string
	wanted, last []RRset
	writes       []string
	until        time.Time
	committed    bool
}

// server is a DNS server with the name, and how many registrations it had.
type server struct {
	zone
	count int
}

// pass is one pass of a copy, as package controller has it. It reports whether the copy wrote a registration.
func (s *server) pass(c *copied, consent string) (wrote bool) {
	for range 5 {
		f := Facts{Now: now, Domain: domain, Me: Owner{Server: "s", Namespace: "team", Name: "acme", UID: c.uid, Process: fmt.Sprintf("%p", c)}, Former: c.former,
			Wanted: c.wanted, Until: c.until, Last: c.last, Committed: c.committed, There: s.read(func(RRset) bool { return true }),
			Writes: c.writes, Write: fmt.Sprintf("w%d", s.count), TakeOverWrite: consent}
		d := Decide(f)
		if d.Adopted != "" {
			c.writes = append(c.writes, d.Adopted)
			continue
		}
		if d.Registers {
			c.writes, wrote = append(c.writes, f.Write), true
			s.count++
			for _, w := range c.wanted {
				if !slices.ContainsFunc(c.last, func(l RRset) bool { return l.Name == w.Name && l.Type == w.Type }) {
					c.last = append(c.last, w)
				}
			}
		}
		s.write(d.Changes)
		if d.Verb != Bid {
			if d.Verb == Nothing || d.Verb == Write {
				c.last, c.committed, c.former = c.wanted, len(c.wanted) > 0, nil
			}
			return wrote
		}
	}
	panic("a pass does not end")
}

func addresses(n int) []RRset {
	if n == 0 {
		return nil
	}
	return []RRset{set(domain, "A", fmt.Sprintf("192.0.2.%d", n)), set("*."+domain, "A", fmt.Sprintf("192.0.2.%d", n))}
}

// Restored backups and moves make copies of a claim. Copies never write in turns: while nobody changes a spec, each writes at most
// once more, whatever it wants, and in any order of passes. After one copy has taken the name over, the others leave it alone, and
// their deletion removes nothing.
func TestCopiesNeverAlternate(t *testing.T) {
	until := now.Add(time.Hour)
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // no secret
		s, copies := &server{zone: zone{}}, []*copied{{uid: "u0", wanted: addresses(random.IntN(4)), until: until}}
		for range 14 {
			c := copies[random.IntN(len(copies))]
			clone := func() *copied {
				o := *c
				o.former, o.last, o.writes = slices.Clone(c.former), slices.Clone(c.last), slices.Clone(c.writes)
				copies = append(copies, &o)
				return &o
			}
			switch random.IntN(6) {
			case 0: // it is restored from a backup
				clone()
			case 1: // it moves: another UID, and the same status
				o := clone()
				o.uid, o.former = fmt.Sprintf("u%d", len(copies)), append(o.former, c.uid)
			case 2, 3: // somebody changes its spec
				c.wanted = addresses(random.IntN(4))
				if len(c.wanted) == 0 {
					c.until = until.Add(time.Duration(random.IntN(3)) * time.Minute)
				}
			case 4: // somebody removes the registration
				delete(s.zone, RegistrationOf(domain)+" TXT")
			default:
				s.pass(c, "")
			}
		}
		wrote := map[*copied]int{}
		for range 40 * len(copies) {
			if c := copies[random.IntN(len(copies))]; s.pass(c, "") {
				wrote[c]++
			}
		}
		for c, n := range wrote {
			if n > 1 {
				t.Fatalf("seed %d: the copy %s wrote %d times", seed, c.uid, n)
			}
		}
		r, found := (&Facts{Domain: domain, There: s.read(func(RRset) bool { return true })}).registration()
		if !found {
			t.Fatalf("seed %d: nobody has the name", seed)
		}
		c := copies[slices.IndexFunc(copies, func(c *copied) bool { return c.uid == r.Owner.UID })]
		c.wanted = addresses(9)
		s.pass(c, r.Write)
		right := s.read(func(RRset) bool { return true })
		for _, o := range copies {
			if o == c {
				continue
			}
			d := Decide(Facts{Now: now, Domain: domain, Me: Owner{UID: o.uid}, Former: o.former, Last: o.last, Writes: o.writes, Gone: true, There: right})
			if s.pass(o, "") || len(d.Changes) > 0 {
				t.Fatalf("seed %d: the copy %s changes what %s has taken over, or removes %+v", seed, o.uid, c.uid, d.Changes)
			}
		}
	}
}
