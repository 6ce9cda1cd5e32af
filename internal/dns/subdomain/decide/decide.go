// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// BidAge is when a bid counts as that of a process that died. Nobody writes that long after a read.
	BidAge = 2 * time.Minute
	// Grace is how long a reservation is kept from others after its end, for clocks that differ.
	Grace = 5 * time.Minute
)

// The TTL of registrations and bids, which nobody but us reads.
const ownTTL = 60

// RRset are the records of a name with one type. Without contents, it is to be removed.
type RRset struct {
	// Name is without the final dot.
	Name, Type string
	TTL        int
	Contents   []string
}

// Facts are what decides.
type Facts struct {
	Now time.Time
	// Domain is the claimed one.
	Domain string
	Me     Owner
	// Former are the UIDs of the claim at the homes that it was moved from: a registration with one of them is its own.
	Former []string
	// Write identifies the write that may follow, as nothing else does, and Writes are the last ones of the claim, here and at
	// the homes that it was moved from. TakeOverWrite is the write of another copy of the claim that this one may replace.
	Write, TakeOverWrite string
	Writes               []string
	// TakeOver is the text of a registration of another owner that the pool's owner lets this claim replace.
	TakeOver string
	// Living: the owner of the registration is a claim of this API. It keeps its name, whatever anybody allows.
	Living bool
	// Above are the registrations and bids of the names above the domain, up to the zone.
	Above []RRset
	// Wanted are the records; none to reserve the name, until Until.
	Wanted []RRset
	Until  time.Time
	// Last are the records that were written last.
	Last []RRset
	// Committed: Last was found on the server by an earlier pass. Else another process of ours may be writing it now,
	// and a record that is missing is not a change of somebody else.
	Committed bool
	// There is what the server has of the domain and below it. Its bids were read before its registration.
	There []RRset
	// Gone: the claim is deleted.
	Gone bool
}

// Verb is what to do.
type Verb string

const (
	// Nothing: all is as it is wanted.
	Nothing Verb = "Nothing"
	// Bid: write the changes, then read and decide again.
	Bid Verb = "Bid"
	// Wait for another bid to go, and decide again.
	Wait Verb = "Wait"
	// Write the changes: the name is ours with them.
	Write Verb = "Write"
	// Release the name: write the changes, and it is not ours.
	Release Verb = "Release"
	// Taken: the name is somebody else's. Write the changes, which withdraw a bid.
	Taken Verb = "Taken"
)

// Decision is what to do, and why.
type Decision struct {
	Verb    Verb
	Changes []RRset
	// Because is for people.
	Because string
	// Repaired are the names whose records were not those that were written last, with what they were.
	Repaired []string
	// By is the last write of the copy of the claim that has the name, if one with its UID has it: [Facts.TakeOverWrite]
	// replaces it. Text is the registration of a copy with another UID: [Facts.TakeOver] replaces that.
	By, Text string
	// Ours is the claim's own write that the server has, if something is written over it. It must stay known whatever becomes
	// of the attempt: without it, the claim would take its own registration for another copy's.
	Ours string
	// Registers: the changes have a registration with [Facts.Write].
	Registers bool
	// Adopted is a write that is not known to be ours, and left what is wanted: note it, and decide again.
	Adopted string
}

// Decide decides what to do.
func Decide(f Facts) Decision {
	r, found := f.registration()
	mine := found && f.own(r)
	takesOver := found && f.TakeOver != "" && f.TakeOver == r.Text && !f.Living
	switch {
	// A deleted claim removes what is its own, and only that.
	case f.Gone && mine:
		return Decision{Verb: Release, Changes: f.removal()}
	case f.Gone:
		return Decision{Verb: Release, Changes: f.withdrawal()}
	// A reservation that ended without addresses is given up.
	case mine && len(f.Wanted) == 0 && !f.Until.After(f.Now):
		return Decision{Verb: Release, Changes: f.removal(), Because: "the reservation is over"}
	case !mine && len(f.Wanted) == 0 && !f.Until.After(f.Now):
		return Decision{Verb: Release, Changes: f.withdrawal(), Because: "the reservation is over"}
	// A registration that ended may be somebody else's in a moment: it is acquired anew.
	case mine && !r.ended(f.Now, 0):
		return f.keep()
	case found && !mine && f.right(r):
		return Decision{Verb: Nothing, Adopted: r.Write}
	case found && !mine && !r.ended(f.Now, Grace) && !takesOver:
		return f.belongs(r)
	}
	if above, pending := f.above(); pending {
		return Decision{Verb: Wait, Changes: f.withdrawal(), Because: "another claim takes a name above it at the same moment"}
	} else if above != "" {
		return f.taken(fmt.Sprintf("%s is below a name that belongs to %s", f.Domain, above))
	}
	if there := f.foreign(takesOver); !mine && there != "" {
		return f.taken(fmt.Sprintf("%s is in use: the server has %s, which Yuba did not write", f.Domain, there))
	}
	return f.acquire()
}

// right reports whether the claim, or a copy of it, has written exactly what is wanted.
func (f *Facts) right(r Registration) bool {
	if r.Owner.UID != f.Me.UID || r.Write == "" || r.Text != f.Me.registration(f.until(), r.Write) {
		return false
	}
	changes, _ := f.records()
	return len(changes) == 0
}

// texts are those of registrations that Yuba makes up. Others are not repeated in a command.
var texts = regexp.MustCompile(`^[A-Za-z0-9=,/._-]{1,1000}$`)

// belongs says who has the name, and which write or text gives it to this claim if a copy of it has the name.
func (f *Facts) belongs(r Registration) Decision {
	d := f.taken(fmt.Sprintf("%s belongs to %s, says the TXT record %s", f.Domain, r.Text, RegistrationOf(f.Domain)))
	if !texts.MatchString(r.Text) {
		return d
	}
	switch o := r.Owner; {
	case f.named(o):
		d.By = r.Write
		d.Because = fmt.Sprintf("%s belongs to another copy of this claim, with the same UID: one of both is of a backup, says the TXT record %s (write=%s). That copy wrote it last, in another home, and nothing is written here",
			f.Domain, RegistrationOf(f.Domain), r.Write)
	case o.UID != "" && o.Server == f.Me.Server && o.Namespace == f.Me.Namespace && o.Name == f.Me.Name:
		d.Text = r.Text
		d.Because = fmt.Sprintf("%s belongs to %s, says the TXT record %s: a claim of the same name, with another UID, such as a copy that was moved, or one of another Yuba with the same ownerID. Nothing is written here", f.Domain, r.Text, RegistrationOf(f.Domain))
	}
	return d
}

// taken withdraws our bid.
func (f *Facts) taken(because string) Decision {
	return Decision{Verb: Taken, Changes: f.withdrawal(), Because: because + ". Use another name, or remove the records there"}
}

// acquire takes a free name.
func (f *Facts) acquire() Decision {
	b := f.bids()
	const because = "another claim takes the name at the same moment"
	switch {
	case len(b.others) > 0 && slices.Min(b.others) < b.mine:
		return Decision{Verb: Wait, Changes: f.withdrawal(), Because: because}
	case !b.fresh:
		return Decision{Verb: Bid, Changes: []RRset{{b.mine, "TXT", ownTTL, []string{quoted(f.Me.bid(f.Now))}}}}
	case len(b.others) > 0:
		return Decision{Verb: Wait, Because: because}
	}
	d := f.keep()
	d.Repaired = nil
	return d
}

// keep makes the registration and the records what they should be.
func (f *Facts) keep() Decision {
	d := Decision{Verb: Nothing}
	for _, w := range f.Wanted {
		for _, set := range f.There {
			if set.Name == w.Name && slices.Contains([]string{"CNAME", "ALIAS", "DNAME", "LUA"}, set.Type) || set.Name == w.Name && set.Type == "NS" {
				return Decision{Verb: Taken, Changes: f.withdrawal(), Because: fmt.Sprintf("%s has a record of type %s, which Yuba did not write. Delete it on the server", w.Name, set.Type)}
			}
		}
	}
	r, _ := f.registration()
	known := f.named(r.Owner) && slices.Contains(f.Writes, r.Write)
	changes, repaired := f.records()
	if known || r.Write == "" { // else another copy made the records
		d.Repaired = repaired
	}
	write := f.Write
	if known {
		write = r.Write
	}
	if len(changes) > 0 || r.Text != f.Me.registration(f.until(), write) {
		if d.Registers = true; known {
			d.Ours = r.Write
		}
		d.Changes = append(d.Changes, RRset{RegistrationOf(f.Domain), "TXT", ownTTL, []string{quoted(f.Me.registration(f.until(), f.Write))}})
	}
	d.Changes = append(append(d.Changes, changes...), f.withdrawal()...)
	if len(d.Changes) > 0 {
		d.Verb = Write
	}
	return d
}

// until is the end of the reservation; zero if there are records.
func (f *Facts) until() time.Time {
	if len(f.Wanted) > 0 {
		return time.Time{}
	}
	return f.Until
}

// records are the changes that make the records what they should be, and what a repair repairs.
func (f *Facts) records() (changes []RRset, repaired []string) {
	for _, w := range f.Wanted {
		is := f.at(w.Name, w.Type)
		if is.same(w) {
			continue
		}
		changes = append(changes, w)
		if f.Committed && slices.ContainsFunc(f.Last, w.same) { // it was right
			repaired = append(repaired, fmt.Sprintf("%s %s was %s", w.Name, w.Type, is.shown()))
		}
	}
	for _, old := range f.Last { // a name or a family that is not wanted any more
		wanted := slices.ContainsFunc(f.Wanted, func(w RRset) bool { return w.Name == old.Name && w.Type == old.Type })
		if !wanted && len(f.at(old.Name, old.Type).Contents) > 0 {
			changes = append(changes, RRset{Name: old.Name, Type: old.Type})
		}
	}
	return changes, repaired
}

// removal removes the registration, our bid, and our records.
func (f *Facts) removal() []RRset {
	changes := append(f.withdrawal(), RRset{Name: RegistrationOf(f.Domain), Type: "TXT"})
	for _, r := range slices.Concat(f.Last, f.Wanted) {
		gone := RRset{Name: r.Name, Type: r.Type}
		known := slices.ContainsFunc(changes, func(c RRset) bool { return c.Name == gone.Name && c.Type == gone.Type })
		if !known && len(f.at(r.Name, r.Type).Contents) > 0 {
			changes = append(changes, gone)
		}
	}
	return changes
}

// withdrawal removes our bid, and those that nobody withdraws any more.
func (f *Facts) withdrawal() (changes []RRset) {
	b := f.bids()
	if len(f.at(b.mine, "TXT").Contents) > 0 {
		changes = append(changes, RRset{Name: b.mine, Type: "TXT"})
	}
	for _, name := range b.stale {
		changes = append(changes, RRset{Name: name, Type: "TXT"})
	}
	return changes
}

// foreign names a record of the domain, or below it, that is none of Yuba's.
// With a registration, the addresses of its names are taken over.
func (f *Facts) foreign(takesOver bool) string {
	for _, set := range f.There {
		if takesOver && slices.ContainsFunc(f.Wanted, func(w RRset) bool { return w.Name == set.Name }) && (set.Type == "A" || set.Type == "AAAA") {
			continue
		}
		if set.Name == RegistrationOf(f.Domain) || strings.HasSuffix(set.Name, bidMark+f.Domain) {
			continue
		}
		if slices.ContainsFunc(f.Last, func(l RRset) bool { return l.Name == set.Name && l.Type == set.Type }) {
			continue // ours, of an expired registration
		}
		return fmt.Sprintf("%s of type %s", set.Name, set.Type)
	}
	return ""
}

// at is the record set of a name; without contents if there is none.
func (f *Facts) at(name, kind string) RRset {
	for _, set := range f.There {
		if set.Name == name && set.Type == kind {
			return set
		}
	}
	return RRset{Name: name, Type: kind}
}

func (r RRset) same(other RRset) bool {
	return r.Name == other.Name && r.Type == other.Type && r.TTL == other.TTL && slices.Equal(slices.Sorted(slices.Values(r.Contents)), slices.Sorted(slices.Values(other.Contents)))
}

// shown shows contents that somebody else wrote, short.
func (r RRset) shown() string {
	if len(r.Contents) == 0 {
		return "missing"
	}
	text := fmt.Sprintf("%s with TTL %d", strings.Join(r.Contents, ", "), r.TTL)
	if len(text) > 100 {
		text = text[:100] + "…"
	}
	return strings.ToValidUTF8(text, "?")
}
