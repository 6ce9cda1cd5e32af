// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"time"
)

// Reservation counts how often a namespace has reserved a name without having addresses for it.
type Reservation struct {
	Namespace, Domain string
	// Claim is the UID of the last claim.
	Claim string
	// Renewals is how often it was reserved again.
	Renewals int32
	// At is when the last reservation began.
	At time.Time
}

// Budget limits reservations. It counts names, not claims: a claim that is deleted and created again goes on counting.
type Budget struct {
	// Renewals is how often a namespace can reserve a name again.
	Renewals int32
	// Names is how many names a namespace can have reserved within Memory; 0 for any number.
	Names int
}

const (
	// Memory is how long a reservation counts after it began.
	Memory = 24 * time.Hour
	// MaxReservations limits what a pool remembers. The oldest of the namespace with the most are forgotten first.
	MaxReservations = 1000
)

// Refusal is why a name is not reserved.
type Refusal struct {
	// Renewals is true if the name was reserved too often, else the namespace has reserved too many names.
	Renewals bool
	// Count is how often, or how many.
	Count int
	// Until is when there is room again.
	Until time.Time
}

// Reserve counts a reservation that begins now. asked has the count of the claim itself, so that two processes which
// reserve for it at the same moment count once. Without a refusal, it returns what to remember, and the count. The
// reservations are not changed.
func (b Budget) Reserve(now time.Time, known []Reservation, asked Reservation) ([]Reservation, int32, *Refusal) {
	kept := Remember(now, known)
	mine, names := -1, 0
	oldest := now
	for i, r := range kept {
		if r.Namespace != asked.Namespace {
			continue
		}
		if r.Domain == asked.Domain {
			mine = i
			continue
		}
		names++
		if r.At.Before(oldest) {
			oldest = r.At
		}
	}
	if mine < 0 {
		if b.Names > 0 && names >= b.Names {
			return nil, 0, &Refusal{Count: names, Until: oldest.Add(Memory)}
		}
		asked.Renewals, asked.At = 0, now
		kept = append(kept, asked)
		return trim(kept), 0, nil
	}
	was := kept[mine]
	count := was.Renewals + 1
	if was.Claim == asked.Claim {
		count = max(was.Renewals, asked.Renewals)
	}
	if count > b.Renewals {
		return nil, 0, &Refusal{Renewals: true, Count: int(count), Until: was.At.Add(Memory)}
	}
	asked.Renewals, asked.At = count, now
	return append(slices.Delete(kept, mine, mine+1), asked), count, nil
}

// trim forgets reservations beyond the limit, so that a namespace with many makes no other one's counts go.
func trim(kept []Reservation) []Reservation {
	for len(kept) > MaxReservations {
		count := map[string]int{}
		for _, r := range kept {
			count[r.Namespace]++
		}
		oldest := 0
		for i, r := range kept {
			if count[r.Namespace] > count[kept[oldest].Namespace] {
				oldest = i
			}
		}
		kept = slices.Delete(kept, oldest, oldest+1)
	}
	return kept
}

// Forget ends the count of a name: it has addresses.
func Forget(now time.Time, known []Reservation, namespace, domain string) []Reservation {
	return slices.DeleteFunc(Remember(now, known), func(r Reservation) bool { return r.Namespace == namespace && r.Domain == domain })
}

// Remember leaves out the reservations that do not count any more.
func Remember(now time.Time, known []Reservation) []Reservation {
	return slices.DeleteFunc(slices.Clone(known), func(r Reservation) bool { return now.Sub(r.At) >= Memory })
}
