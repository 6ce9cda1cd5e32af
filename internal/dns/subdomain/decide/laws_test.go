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

// actor is a process of a claim. Between any two of its requests to the DNS server, others go on.
type actor struct {
	me Owner
	// known are the writes in the claim's status, and count how many there were at all.
	known *[]string
	count *int
	bids  []RRset // as it read them
	step  int
	todo  []RRset
	owned bool // it wrote its registration, and has not released it
	given bool // it gave up
}

// zone is the DNS server: each read of a part, and each transaction, is atomic.
type zone map[string]RRset

func (z zone) write(changes []RRset) {
	for _, c := range changes {
		key := c.Name + " " + c.Type
		if len(c.Contents) == 0 {
			delete(z, key)
			continue
		}
		z[key] = c
	}
}

func (z zone) read(keep func(RRset) bool) (found []RRset) {
	for _, set := range z {
		if keep(set) {
			found = append(found, set)
		}
	}
	return found
}

// next does one request of an actor.
func (a *actor) next(z zone, random *rand.Rand) {
	isRegistration := func(r RRset) bool { return r.Name == RegistrationOf(domain) }
	switch a.step {
	case 0: // the bids first
		a.bids = z.read(func(r RRset) bool { return !isRegistration(r) })
		a.step = 1
	case 1: // the registration last, and decide
		*a.count++
		f := Facts{Now: now, Domain: domain, Me: a.me, Until: now.Add(time.Hour + time.Duration(*a.count)*time.Second), There: slices.Concat(a.bids, z.read(isRegistration)),
			Writes: *a.known, Write: fmt.Sprintf("w%d", *a.count)}
		d := Decide(f)
		if d.Registers { // it is noted before it is written
			*a.known = append(*a.known, f.Write)
		}
		a.todo, a.step = d.Changes, 2
		if d.Verb == Taken {
			a.given = true
		}
		if d.Verb == Write {
			a.step = 3
		}
		if d.Verb == Nothing { // another process of the same claim has it
			a.owned = true
		}
	case 2: // a bid, or its withdrawal
		z.write(a.todo)
		a.step = 0
	case 3: // the registration
		z.write(a.todo)
		a.owned, a.step = true, 0
	}
	if !a.owned && random.IntN(40) == 0 {
		a.step = 0 // it was killed, and begins again
	}
}

// Of claims that race for a name in any order, with kills and several processes, one gets it, and never two.
func TestOneOwner(t *testing.T) {
	for seed := range uint64(20_000) {
		random := rand.New(rand.NewPCG(seed, 7))
		replicas, z, actors := 1+random.IntN(2), zone{}, make([]*actor, 2+random.IntN(3))
		count, known, copies := 0, map[int]*[]string{}, random.IntN(2) == 0 // all have one UID, in homes of their own
		for i := range actors {
			uid, home := fmt.Sprint(seed, i/replicas), i/replicas
			if known[home] == nil {
				known[home] = &[]string{}
			}
			if copies {
				uid = fmt.Sprint(seed)
			}
			actors[i] = &actor{me: Owner{Server: "s", Namespace: "team", Name: "acme", UID: uid, Process: fmt.Sprint(i)}, known: known[home], count: &count}
		}
		owners := func() (n int) {
			homes := map[*[]string]bool{}
			for _, a := range actors {
				if a.owned {
					homes[a.known] = true
				}
			}
			return len(homes)
		}
		for range 4000 {
			actors[random.IntN(len(actors))].next(z, random)
			if owners() > 1 {
				t.Fatalf("seed %d: two claims have the name", seed)
			}
			if owners() == 1 && !slices.ContainsFunc(actors, func(a *actor) bool { return !a.owned && !a.given }) {
				break
			}
		}
		if owners() != 1 {
			t.Fatalf("seed %d: nobody gets the name", seed)
		}
	}
}
