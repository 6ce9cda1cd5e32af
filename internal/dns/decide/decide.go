// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"
)

// RRset are the records of a name with one type. Without contents, it is to be removed.
type RRset struct {
	// Name is without the final dot.
	Name, Type string
	TTL        int
	Contents   []string
}

// Facts are what decides.
type Facts struct {
	Host string
	// Owner is who we are, see [Owner], and Former who we were. Place says which server was meant: a server that is
	// left for itself, by another of its names, keeps the records.
	Owner, Place string
	Former       []string
	// UID is the object's. Write identifies the write that may follow, as nothing else does, and Writes are the last ones of
	// the object, here and at the homes that it was moved from. TakeOver is the write of another copy that this one may replace.
	UID, Write, TakeOver string
	Writes               []string
	// Wanted are the contents of the records of type LUA; none to remove them.
	Wanted []string
	TTL    int
	// Kept: an earlier pass found or wrote exactly this. So whatever differs was changed by somebody else.
	Kept bool
	// There are the server's records of the name and of the name's registration.
	There []RRset
}

// Decision is what to do.
type Decision struct {
	// Changes are what the server is to write, at once. None if all is as it is wanted.
	Changes []RRset
	// Repaired are the records that somebody else has changed, with what they are.
	Repaired []string
	// Taken says why the name cannot have our records; empty if it can.
	Taken string
	// By is the last write of the copy of the object that has the name, if one has it: [Facts.TakeOver] replaces it.
	By string
	// Ours is the object's own write that the server has, if it has one and something is to be written. It must stay known
	// whatever becomes of the attempt: without it, the object would take what it wrote itself for another copy's.
	Ours string
	// Adopted is a write that is not known to be ours, and left what is wanted. Nothing is to be written.
	Adopted string
}

// ownerTTL is the TTL of registrations, which nobody but us reads.
const ownerTTL = 300

// Owner identifies an object of a server in a registration.
func Owner(server, namespace, name string) string {
	return "heritage=yuba,owner=" + server + ",resource=failoverrecord/" + namespace + "/" + name
}

// RegistrationOf is the name that has the owner of a name.
func RegistrationOf(host string) string {
	if below, wild := strings.CutPrefix(host, "*."); wild {
		host = "_any." + below
	}
	return "_yuba." + host
}

// Decide decides what to change.
func Decide(f Facts) Decision {
	r, registered := f.registration()
	if len(f.Wanted) == 0 {
		if r.owner != f.Owner || r.place != f.Place || r.write != "" && !slices.Contains(f.Writes, r.write) {
			return Decision{} // nothing of ours is there
		}
		return Decision{Changes: []RRset{{Name: f.Host, Type: "LUA"}, {Name: RegistrationOf(f.Host), Type: "TXT"}}}
	}
	wanted := RRset{Name: f.Host, Type: "LUA", TTL: f.TTL, Contents: f.Wanted}
	right := r.owner == f.Owner && r.uid == f.UID && r.place == f.Place && r.write != "" && slices.ContainsFunc(f.There, wanted.same)
	if registered && !f.own(r) && !right {
		return f.taken(r)
	}
	for _, set := range f.There {
		if set.Name == f.Host && (set.Type == "LUA" && !registered || slices.Contains([]string{"A", "AAAA", "CNAME", "ALIAS", "DNAME", "NS"}, set.Type)) {
			return Decision{Taken: fmt.Sprintf("%s has records of type %s that Yuba did not write (%s). Delete them on the server, or use another name", f.Host, set.Type, shown(set.Contents))}
		}
	}
	switch {
	case right && slices.Contains(f.Writes, r.write):
		return Decision{}
	case right:
		return Decision{Adopted: r.write}
	}
	ours := registration{owner: f.Owner, uid: f.UID, write: f.Write, place: f.Place}
	d := Decision{Changes: []RRset{wanted, {Name: RegistrationOf(f.Host), Type: "TXT", TTL: ownerTTL, Contents: []string{quoted(ours.text())}}}}
	if slices.Contains(f.Writes, r.write) {
		d.Ours = r.write
	}
	if f.Kept {
		d.Repaired = f.changed(wanted, registered)
	}
	return d
}

// changed says what the records are that differ from wanted ones. A registration that names another write is ours all the same.
func (f *Facts) changed(wanted RRset, registered bool) (all []string) {
	is := "missing"
	for _, set := range f.There {
		switch {
		case set.same(wanted):
			is = ""
		case set.Name == wanted.Name && set.Type == wanted.Type && len(set.Contents) > 0:
			is = fmt.Sprintf("%s with TTL %d", shown(set.Contents), set.TTL)
		}
	}
	if is != "" {
		all = append(all, fmt.Sprintf("%s %s was %s", wanted.Name, wanted.Type, is))
	}
	if !registered {
		all = append(all, RegistrationOf(f.Host)+" TXT was missing")
	}
	return all
}

func (r RRset) same(other RRset) bool {
	return r.Name == other.Name && r.Type == other.Type && r.TTL == other.TTL && slices.Equal(sorted(r.Contents), sorted(other.Contents))
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// shown shows contents that somebody else wrote, short.
func shown(contents []string) string { return shortened(strings.Join(contents, ", "), 100) }

func shortened(text string, most int) string {
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "?")
}

// quoted is a text as content of a TXT record: strings of at most 255 bytes.
func quoted(text string) string {
	var parts []string
	for len(text) > 250 {
		parts, text = append(parts, text[:250]), text[250:]
	}
	return "\"" + strings.Join(append(parts, text), "\" \"") + "\""
}

func unquoted(content string) string {
	return strings.Trim(strings.ReplaceAll(content, "\" \"", ""), "\"")
}
