// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"time"
)

// Hold is how long a new platform keeps its DNS name for itself without making anything.
const Hold = time.Hour

// Contender is a platform that wants a DNS name.
type Contender struct {
	// Key is NAMESPACE/NAME.
	Key     string
	Created time.Time
	// Claimed: a committed SubdomainClaim of its namespace has the name.
	Claimed bool
	// Resolves: the name leads to the platform, by records that people created or by its phase dns.
	Resolves bool
	// Begun: it may have made something. Gone: it is decommissioned, and nothing of it is left.
	Begun, Gone bool
	// Had: it had the name when it was last decided about. Only the server says so, never a blueprint.
	Had bool
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

// HolderOf decides which of the platforms with one DNS name has it. One that had it and has begun keeps it, whatever others
// prove: people who edit another namespace must not be able to stop it. Else a proof comes first: a committed claim of the
// name, then records that lead to the platform. Without a proof, a platform that has begun comes first, since it may have made
// machines. A platform that makes nothing keeps the name for [Hold], and after that until a newer one wants it. Of equals, the
// oldest has the name.
func HolderOf(now time.Time, all []Contender) Holding {
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
	const prove = "If the name is yours, prove it with a SubdomainClaim of it in this namespace. Else choose another name"
	switch {
	case holder.keeps():
		h.Because, h.Way = "it has begun with that name, and keeps it", "Choose another name, or decommission or delete that platform"
	case holder.Claimed:
		h.Because, h.Way = "a SubdomainClaim of its namespace has the name", "Choose another name, or release that claim"
	case holder.Resolves:
		h.Because, h.Way = "the name leads to it", "Choose another name, or decommission that platform"
	case holder.Begun:
		h.Because, h.Way = "it has begun, although nothing proves that the name is its own", prove+", or decommission that platform"
	case holder.fresh(now):
		h.Until = holder.Created.Add(Hold)
		h.Because = "it is older, and may begin until " + h.Until.UTC().Format(time.RFC3339)
		h.Way = prove + ", or wait"
	default:
		h.Because, h.Way = "it is older, and neither has made anything", prove+", or delete that platform"
	}
	return h
}

// fresh: it has begun, or has time to begin.
func (c *Contender) fresh(now time.Time) bool { return c.Begun || now.Before(c.Created.Add(Hold)) }

// keeps: nothing takes the name from it but its decommission or deletion.
func (c *Contender) keeps() bool { return c.Had && c.Begun }

// precedes reports whether a platform has the name before another one.
func (c *Contender) precedes(other *Contender, now time.Time) bool {
	for _, pair := range [][2]bool{{c.keeps(), other.keeps()}, {c.Claimed, other.Claimed}, {c.Resolves, other.Resolves}, {c.Begun, other.Begun}, {c.fresh(now), other.fresh(now)}} {
		if pair[0] != pair[1] {
			return pair[0]
		}
	}
	if order := c.Created.Compare(other.Created); order != 0 {
		return order < 0
	}
	if c.Had != other.Had { // times have whole seconds
		return c.Had
	}
	return cmp.Less(c.Key, other.Key)
}

// Refusal is the message for a platform that does not have its name.
func (h Holding) Refusal(holder string) string {
	return fmt.Sprintf("%s has the same DNS name: %s. %s", holder, h.Because, h.Way)
}
