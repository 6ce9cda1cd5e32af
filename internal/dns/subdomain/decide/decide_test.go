// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const domain = "acme.example.org"

var (
	now   = time.Unix(1_800_000_000, 0)
	me    = Owner{Server: "default", Namespace: "team", Name: "acme", UID: "UID-A"}
	other = Owner{Server: "second", Namespace: "team", Name: "acme", UID: "UID-B"}
)

func set(name, kind string, contents ...string) RRset {
	ttl := 300
	if kind == "TXT" {
		ttl = ownTTL
	}
	return RRset{name, kind, ttl, contents}
}

// registered is a registration with a write that the claim knows as its own, and renewed one with the next write.
func registered(o Owner, until time.Time) RRset { return written(o, until, "w1") }
func renewed(o Owner, until time.Time) RRset    { return written(o, until, "w2") }

func written(o Owner, until time.Time, write string) RRset {
	return set(RegistrationOf(domain), "TXT", quoted(o.registration(until, write)))
}

func bidding(o Owner, at time.Time) RRset {
	return set(BidOf(domain, o), "TXT", quoted(o.bid(at)))
}

func gone(name, kind string) RRset { return RRset{Name: name, Type: kind} }

func TestDecide(t *testing.T) {
	a, star := set(domain, "A", "192.0.2.1"), set("*."+domain, "A", "192.0.2.1")
	records, until := []RRset{a, star}, now.Add(10*time.Minute)
	created, second := me, me
	created.UID, second.Process = "UID-C", "2"
	ofCopy := Decision{Verb: Taken, By: "x", Because: "acme.example.org belongs to another copy of this claim, with the same UID: one of both is of a backup, says the TXT record _yuba.acme.example.org (write=x). " +
		"That copy wrote it last, in another home, and nothing is written here"}
	type facts = Facts
	for name, test := range map[string]struct {
		facts facts
		want  Decision
	}{
		"a free name: bid first": {facts{Until: until}, Decision{Verb: Bid, Changes: []RRset{bidding(me, now)}}},
		"alone: reserve": {facts{Until: until, There: []RRset{bidding(me, now)}},
			Decision{Verb: Write, Registers: true, Changes: []RRset{renewed(me, until), gone(BidOf(domain, me), "TXT")}}},
		"alone, and the addresses are known: commit at once": {facts{Wanted: records, There: []RRset{bidding(me, now)}},
			Decision{Verb: Write, Registers: true, Changes: []RRset{renewed(me, time.Time{}), a, star, gone(BidOf(domain, me), "TXT")}}},
		"an old bid of ours is renewed, as others ignore it": {facts{Until: until, There: []RRset{bidding(me, now.Add(-BidAge))}}, Decision{Verb: Bid, Changes: []RRset{bidding(me, now)}}},
		"another bid that is higher: wait": {facts{Until: until, There: []RRset{bidding(me, now), bidding(other, now)}}, Decision{Verb: Wait,
			Because: "another claim takes the name at the same moment"}},
		"another bid that is lower: withdraw": {facts{Me: other, Until: until, There: []RRset{bidding(me, now), bidding(other, now)}}, Decision{Verb: Wait,
			Changes: []RRset{gone(BidOf(domain, other), "TXT")}, Because: "another claim takes the name at the same moment"}},
		"the bid of a server that died": {facts{Until: until, There: []RRset{bidding(me, now), bidding(other, now.Add(-BidAge-time.Second))}},
			Decision{Verb: Write, Registers: true, Changes: []RRset{renewed(me, until), gone(BidOf(domain, me), "TXT"), gone(BidOf(domain, other), "TXT")}}},
		"a bid of ours that another process of ours made needless": {facts{Until: until, There: []RRset{registered(me, until), bidding(me, now)}},
			Decision{Verb: Write, Changes: []RRset{gone(BidOf(domain, me), "TXT")}}},
		"somebody else has it: withdraw": {facts{Until: until, There: []RRset{bidding(me, now), registered(other, time.Time{})}},
			Decision{Verb: Taken, Changes: []RRset{gone(BidOf(domain, me), "TXT")},
				Because: "acme.example.org belongs to heritage=yuba,owner=second,resource=subdomainclaim/team/acme,uid=UID-B,write=w1, says the TXT record _yuba.acme.example.org. Use another name, or remove the records there"}},
		"a FailoverRecord has it": {facts{Until: until, There: []RRset{set(RegistrationOf(domain), "TXT", `"heritage=yuba,owner=default,resource=failoverrecord/team/acme"`)}},
			Decision{Verb: Taken, Because: "acme.example.org belongs to heritage=yuba,owner=default,resource=failoverrecord/team/acme, says the TXT record _yuba.acme.example.org. Use another name, or remove the records there"}},
		"a reservation of another that is just over": {facts{Until: until, There: []RRset{registered(other, now.Add(-time.Minute))}},
			Decision{Verb: Taken, Because: "acme.example.org belongs to " + other.registration(now.Add(-time.Minute), "w1") + ", says the TXT record _yuba.acme.example.org. Use another name, or remove the records there"}},
		"a reservation of another that is over": {facts{Until: until, There: []RRset{registered(other, now.Add(-Grace))}}, Decision{Verb: Bid, Changes: []RRset{bidding(me, now)}}},
		"records below it": {facts{Until: until, There: []RRset{set("db."+domain, "CNAME", "x.")}},
			Decision{Verb: Taken, Because: "acme.example.org is in use: the server has db.acme.example.org of type CNAME, which Yuba did not write. Use another name, or remove the records there"}},
		"a delegation": {facts{Until: until, There: []RRset{set(domain, "NS", "ns.x.")}},
			Decision{Verb: Taken, Because: "acme.example.org is in use: the server has acme.example.org of type NS, which Yuba did not write. Use another name, or remove the records there"}},
		"take over what the annotation names": {facts{Wanted: records, TakeOver: other.registration(time.Time{}, "w1"), There: []RRset{a, bidding(me, now), registered(other, time.Time{})}},
			Decision{Verb: Write, Registers: true, Changes: []RRset{renewed(me, time.Time{}), star, gone(BidOf(domain, me), "TXT")}}},
		"a living claim keeps its name, whatever is allowed": {facts{Wanted: records, TakeOver: other.registration(time.Time{}, "w1"), Living: true, There: []RRset{bidding(me, now), registered(other, time.Time{})}},
			Decision{Verb: Taken, Changes: []RRset{gone(BidOf(domain, me), "TXT")},
				Because: "acme.example.org belongs to heritage=yuba,owner=second,resource=subdomainclaim/team/acme,uid=UID-B,write=w1, says the TXT record _yuba.acme.example.org. Use another name, or remove the records there"}},
		"below a name of another": {facts{Until: until, Above: []RRset{set(RegistrationOf("example.org"), "TXT", quoted(other.registration(time.Time{}, "w1")))}, There: []RRset{bidding(me, now)}},
			Decision{Verb: Taken, Changes: []RRset{gone(BidOf(domain, me), "TXT")},
				Because: "acme.example.org is below a name that belongs to heritage=yuba,owner=second,resource=subdomainclaim/team/acme,uid=UID-B,write=w1. Use another name, or remove the records there"}},
		"another one bids for a name above": {facts{Until: until, Above: []RRset{set(BidOf("example.org", other), "TXT", quoted(other.bid(now)))}, There: []RRset{bidding(me, now)}},
			Decision{Verb: Wait, Changes: []RRset{gone(BidOf(domain, me), "TXT")}, Because: "another claim takes a name above it at the same moment"}},
		"reserved: nothing": {facts{Until: until, There: []RRset{registered(me, until)}}, Decision{Verb: Nothing}},
		"reserved, and the addresses come: commit": {facts{Wanted: records, Until: until, There: []RRset{registered(me, until)}},
			Decision{Verb: Write, Registers: true, Ours: "w1", Changes: []RRset{renewed(me, time.Time{}), a, star}}},
		"the addresses come too late: acquire anew": {facts{Wanted: records, Until: until, There: []RRset{registered(me, now)}}, Decision{Verb: Bid, Changes: []RRset{bidding(me, now)}}},
		"expired: release":                          {facts{Until: now, There: []RRset{registered(me, now)}}, Decision{Verb: Release, Changes: []RRset{gone(RegistrationOf(domain), "TXT")}, Because: "the reservation is over"}},
		"expired before":                            {facts{Until: now}, Decision{Verb: Release, Because: "the reservation is over"}},
		"committed: nothing":                        {facts{Wanted: records, Last: records, There: []RRset{a, star, registered(me, time.Time{})}}, Decision{Verb: Nothing}},
		"drift: repair, and say so": {facts{Wanted: records, Last: records, Committed: true, There: []RRset{set(domain, "A", "203.0.113.9"), registered(me, time.Time{})}},
			Decision{Verb: Write, Registers: true, Ours: "w1", Changes: []RRset{renewed(me, time.Time{}), a, star}, Repaired: []string{"acme.example.org A was 203.0.113.9 with TTL 300", "*.acme.example.org A was missing"}}},
		"another process of ours writes the records at the same moment: not a repair": {facts{Wanted: records, Last: records, There: []RRset{a, registered(me, time.Time{})}},
			Decision{Verb: Write, Registers: true, Ours: "w1", Changes: []RRset{renewed(me, time.Time{}), star}}},
		"a CNAME in the way": {facts{Wanted: records, Last: records, There: []RRset{set(domain, "CNAME", "x."), star, registered(me, time.Time{})}},
			Decision{Verb: Taken, Because: "acme.example.org has a record of type CNAME, which Yuba did not write. Delete it on the server"}},
		"other addresses, and a name less": {facts{Wanted: []RRset{set(domain, "A", "192.0.2.2")}, Last: records, There: []RRset{a, star, registered(me, time.Time{})}},
			Decision{Verb: Write, Registers: true, Ours: "w1", Changes: []RRset{renewed(me, time.Time{}), set(domain, "A", "192.0.2.2"), gone("*."+domain, "A")}}},
		"the registration was removed: bid again, and keep the records": {facts{Wanted: records, Last: records, There: []RRset{a, star}}, Decision{Verb: Bid, Changes: []RRset{bidding(me, now)}}},
		"deleted: its own records, and nothing else": {facts{Gone: true, Last: records, There: []RRset{a, star, set(domain, "TXT", `"v=spf1"`), set("x."+domain, "A", "192.0.2.9"), registered(me, time.Time{})}},
			Decision{Verb: Release, Changes: []RRset{gone(RegistrationOf(domain), "TXT"), gone(domain, "A"), gone("*."+domain, "A")}}},
		"deleted, and somebody else has it": {facts{Gone: true, Last: records, There: []RRset{a, star, bidding(me, now), registered(other, time.Time{})}},
			Decision{Verb: Release, Changes: []RRset{gone(BidOf(domain, me), "TXT")}}},
		"a registration of an earlier version: write it again": {facts{Wanted: records, Last: records, There: []RRset{a, star, written(me, time.Time{}, "")}},
			Decision{Verb: Write, Registers: true, Changes: []RRset{renewed(me, time.Time{})}}},
		"a copy of the claim has written something else": {facts{Wanted: records, Last: records, Committed: true, There: []RRset{set(domain, "A", "203.0.113.9"), written(me, time.Time{}, "x")}}, ofCopy},
		"a copy has what it wrote taken over": {facts{Wanted: records, Last: records, Committed: true, TakeOverWrite: "x", There: []RRset{set(domain, "A", "203.0.113.9"), written(me, time.Time{}, "x")}},
			Decision{Verb: Write, Registers: true, Changes: []RRset{renewed(me, time.Time{}), a, star}}},
		"another write of the copy than the one that may be taken over": {facts{Wanted: records, Last: records, TakeOverWrite: "y", There: []RRset{written(me, time.Time{}, "x")}}, ofCopy},
		"a copy of the claim has written what is wanted":                {facts{Wanted: records, There: []RRset{a, star, written(me, time.Time{}, "x")}}, Decision{Verb: Nothing, Adopted: "x"}},
		"a copy of the claim has reserved the name as long":             {facts{Until: until, There: []RRset{written(me, until, "x")}}, Decision{Verb: Nothing, Adopted: "x"}},
		"a copy of the claim has reserved the name longer":              {facts{Until: until, There: []RRset{written(me, until.Add(time.Hour), "x")}}, ofCopy},
		"a claim of the same name, with another UID": {facts{Wanted: records, There: []RRset{written(created, time.Time{}, "x")}}, Decision{Verb: Taken, Text: created.registration(time.Time{}, "x"),
			Because: "acme.example.org belongs to heritage=yuba,owner=default,resource=subdomainclaim/team/acme,uid=UID-C,write=x, says the TXT record _yuba.acme.example.org: a claim of the same name, with another UID, such as a copy that was moved, or one of another Yuba with the same ownerID. " +
				"Nothing is written here"}},
		"a hostile text is in no command": {facts{Wanted: records, There: []RRset{written(created, time.Time{}, "$(id)")}}, Decision{Verb: Taken,
			Because: "acme.example.org belongs to heritage=yuba,owner=default,resource=subdomainclaim/team/acme,uid=UID-C,write=$(id), says the TXT record _yuba.acme.example.org. Use another name, or remove the records there"}},
		"deleted, and a copy has written since": {facts{Gone: true, Last: records, There: []RRset{a, star, bidding(me, now), written(me, time.Time{}, "x")}},
			Decision{Verb: Release, Changes: []RRset{gone(BidOf(domain, me), "TXT")}}},
		"expired, and a copy has written since":     {facts{Until: now, There: []RRset{written(me, time.Time{}, "x")}}, Decision{Verb: Release, Because: "the reservation is over"}},
		"deleted, while another process of it bids": {facts{Gone: true, There: []RRset{bidding(second, now)}}, Decision{Verb: Release}},
		"deleted, and nothing is there":             {facts{Gone: true}, Decision{Verb: Release}},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.facts
			f.Now, f.Domain, f.Writes, f.Write = now, domain, []string{"w0", "w1"}, "w2"
			if f.Me.UID == "" {
				f.Me = me
			}
			if other := BidOf(domain, other); BidOf(domain, me) > other {
				t.Fatal("the test wants the lower bid for me")
			}
			if diff := cmp.Diff(test.want, Decide(f)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A claim that was moved has another UID, and the registration of its former home: it is its own, and is written anew.
func TestAMovedClaimKeepsItsName(t *testing.T) {
	a := set(domain, "A", "192.0.2.1")
	records := []RRset{a}
	there := []RRset{registered(other, time.Time{}), a}
	f := Facts{Now: now, Domain: domain, Me: me, Former: []string{"UID-0", other.UID}, Wanted: records, Last: records, Committed: true, There: there, Writes: []string{"w1"}, Write: "w2"}
	want := Decision{Verb: Write, Registers: true, Ours: "w1", Changes: []RRset{renewed(me, time.Time{})}}
	if diff := cmp.Diff(want, Decide(f)); diff != "" {
		t.Errorf("at its new home: %s", diff)
	}
	f.Gone = true
	if d := Decide(f); d.Verb != Release || len(d.Changes) != 2 {
		t.Errorf("deleted at its new home: %+v", d)
	}
	// The former home does not know the new UID.
	back := Facts{Now: now, Domain: domain, Me: other, Wanted: records, Last: records, Committed: true, There: []RRset{registered(me, time.Time{}), a}}
	if d := Decide(back); d.Verb != Taken || len(d.Changes) > 0 {
		t.Errorf("at its former home: %+v", d)
	}
	back.Gone = true
	if d := Decide(back); len(d.Changes) > 0 {
		t.Errorf("deleted at its former home: %+v", d)
	}
	// An owner without a UID is nobody's former one.
	f.Gone, f.Former, f.There = false, []string{""}, []RRset{set(RegistrationOf(domain), "TXT", quoted("v=something")), a}
	if d := Decide(f); d.Verb != Taken {
		t.Errorf("a record of somebody else: %+v", d)
	}
}
