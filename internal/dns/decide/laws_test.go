// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// copied is one of several copies of an object, each with a controller that does not know of the others.
type copied struct {
	uid    string
	wanted []string
	writes []string
}

// zone is a name on a server, and how many writes it had.
type zone struct {
	there  []RRset
	writes int
}

// pass is one pass of a copy. It reports whether it wrote.
func (z *zone) pass(c *copied, consent string) bool {
	f := Facts{Host: "www.example.org", Owner: Owner("default", "shop", "www"), UID: c.uid, Wanted: c.wanted, TTL: 30, There: z.there,
		Writes: c.writes, Write: fmt.Sprintf("w%d", z.writes), TakeOver: consent}
	d := Decide(f)
	if d.Adopted != "" {
		c.writes = append(c.writes, d.Adopted)
	}
	if len(d.Changes) == 0 {
		return false
	}
	c.writes = append(c.writes, f.Write)
	z.there, z.writes = d.Changes, z.writes+1
	return true
}

// Copies of an object never alternate: while nobody changes a spec, each of them writes at most once more, whatever they
// want, whoever wrote last, and in whichever order they have their passes. Moves and restored backups make copies.
func TestCopiesNeverAlternate(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // no secret
		z, copies := &zone{}, []*copied{{uid: "u0", wanted: []string{"A \"0\""}}}
		for range 12 {
			c := copies[random.IntN(len(copies))]
			switch random.IntN(6) {
			case 0: // it moves: another UID, the same status
				copies = append(copies, &copied{fmt.Sprintf("u%d", len(copies)), c.wanted, slices.Clone(c.writes)})
			case 1: // it is restored from a backup
				copies = append(copies, &copied{c.uid, c.wanted, slices.Clone(c.writes)})
			case 2: // it moves back: the status replaces that of another copy
				o := copies[random.IntN(len(copies))]
				o.wanted, o.writes = c.wanted, slices.Clone(c.writes)
			case 3: // somebody changes its spec
				c.wanted = []string{fmt.Sprintf("A \"%d\"", random.IntN(3))}
			case 4: // somebody removes the records
				z.there = nil
			default:
				z.pass(c, "")
			}
		}
		wrote := map[*copied]int{}
		for range 40 * len(copies) {
			if c := copies[random.IntN(len(copies))]; z.pass(c, "") {
				wrote[c]++
			}
		}
		for c, n := range wrote {
			if n > 1 {
				t.Fatalf("seed %d: the copy %s wrote %d times", seed, c.uid, n)
			}
		}
		// Afterwards one copy takes the name, and all others leave it alone.
		c := copies[random.IntN(len(copies))]
		c.wanted = []string{"A \"taken\""}
		r, _ := (&Facts{Host: "www.example.org", There: z.there}).registration()
		z.pass(c, r.write)
		for _, o := range copies {
			if o != c && o.wanted[0] != c.wanted[0] && z.pass(o, "") {
				t.Fatalf("seed %d: the copy %s writes what %s has taken", seed, o.uid, c.uid)
			}
		}
	}
}
