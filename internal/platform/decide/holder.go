// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Hold is how long a new platform keeps its DNS name for itself without making anything.
const Hold = time.Hour

// Contender is a platform that wants a DNS name.
type Contender struct {
	// Key is NAMESPACE/NAME.
	Key     string
	Created time.Time
	// Claimed: a committed SubdomainClaim of its namespace has the name. Proof is when the claim's pool was created.
	Claimed bool
	Proof   time.Time
	// Begun: it may have made something. Anybody can label a stack so that a platform looks begun, so it counts only
	// together with Had. Gone: it is decommissioned, and nothing of it is left.
	Begun, Gone bool
	// Had: it had the name when it was last decided about, and Since says since when. Only the server says so, never a
	// blueprint. Since is zero if the server did not record it.
	Had   bool
	Since time.Time
}

// Holding says which platform has a DNS name.
type Holding struct {
	// Holder is the key of the platform; empty if none has it.
	Holder string
	// Because says by what it has the name, and Way what the others can do.
	Because, Way string
	// Until is when it is decided anew; zero if only a change decides it anew.
	Until time.Time
}

// HolderOf decides which of the platforms with one DNS name has it. The server records who has the name, and that record
// is what counts:
//
//  1. A platform that had it and has begun keeps it, whatever others prove: people who edit another namespace must not be
//     able to stop it.
//  2. A committed claim of the name comes next. A pool that is younger than the reservation proves nothing: everybody can make one.
//  3. A platform that had the name and makes nothing keeps it for [Hold], and after that until a newer one wants it.
//  4. Of platforms that never had it, the oldest has it.
func HolderOf(now time.Time, all []Contender) Holding {
	all = believed(now, all)
	var holder *Contender
	for i := range all {
		c := &all[i]
		if !c.Gone && (holder == nil || c.precedes(holder, now)) {
			holder = c
		}
	}
	if holder == nil {
		return Holding{}
	}
	h := Holding{Holder: holder.Key}
	const prove = "If the name is yours, prove it with a SubdomainClaim of it in this namespace"
	const other = "choose another name"
	switch {
	case holder.keeps():
		h.Because, h.Way = "it has begun with that name"+holder.since()+", and keeps it", "Choose another name, or decommission or delete that platform"
	case holder.Claimed:
		h.Because, h.Way = "a SubdomainClaim of its namespace has the name", "Choose another name, or release that claim"
	case holder.fresh(now):
		h.Until = holder.reserved().Add(Hold)
		h.Because = "it was first, and may begin until " + h.Until.UTC().Format(time.RFC3339)
		h.Way = prove + ", of a pool that is older than this reservation. Else " + other + ", or wait"
	default:
		h.Because, h.Way = "it was first, and neither has made anything", prove+". Else "+other+", or delete that platform"
	}
	return h
}

// believed leaves out claims of a pool that is younger than the reservation of the name.
func believed(now time.Time, all []Contender) []Contender {
	all = slices.Clone(all)
	for i := range all {
		all[i].Claimed = all[i].Claimed && !slices.ContainsFunc(all, func(o Contender) bool {
			return !o.Gone && o.Had && o.fresh(now) && !o.Since.IsZero() && all[i].Proof.After(o.Since)
		})
	}
	return all
}

// reserved is when the platform reserved the name.
func (c *Contender) reserved() time.Time {
	if c.Had && c.Since.After(c.Created) {
		return c.Since // an older platform had it before
	}
	return c.Created
}

// fresh: it has begun, or has time to begin.
func (c *Contender) fresh(now time.Time) bool { return c.keeps() || now.Before(c.reserved().Add(Hold)) }

// keeps: nothing takes the name from it but its decommission or deletion.
func (c *Contender) keeps() bool { return c.Had && c.Begun }

func (c *Contender) since() string {
	if c.Since.IsZero() {
		return ""
	}
	return ", which it has since " + c.Since.UTC().Format(time.RFC3339)
}

// precedes reports whether a platform has the name before another one.
func (c *Contender) precedes(other *Contender, now time.Time) bool {
	for _, pair := range [][2]bool{
		{c.keeps(), other.keeps()},
		{c.Claimed, other.Claimed},
		{c.Had && c.fresh(now), other.Had && other.fresh(now)},
		{c.fresh(now), other.fresh(now)},
		{c.Had, other.Had},
	} {
		if pair[0] != pair[1] {
			return pair[0]
		}
	}
	// Two can have had the name, after a move or a restore: the first one did so rightly.
	if order := c.Since.Compare(other.Since); c.Had && order != 0 {
		return order < 0
	}
	if order := c.Created.Compare(other.Created); order != 0 {
		return order < 0
	}
	return cmp.Less(c.Key, other.Key)
}

// Refusal is the message for a platform that does not have its name.
func (h Holding) Refusal(holder string) string {
	return fmt.Sprintf("%s has the same DNS name: %s. %s", holder, h.Because, h.Way)
}
