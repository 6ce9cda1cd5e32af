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

// placeMark begins the place in a registration. Owners have no commas but their own.
const placeMark = ",place="

// Decide decides what to change.
func Decide(f Facts) Decision {
	registered, text := f.registration()
	owner, place, _ := strings.Cut(text, placeMark)
	if len(f.Wanted) == 0 {
		if owner != f.Owner || place != f.Place {
			return Decision{} // nothing of ours is there
		}
		return Decision{Changes: []RRset{{Name: f.Host, Type: "LUA"}, {Name: RegistrationOf(f.Host), Type: "TXT"}}}
	}
	if registered && owner != f.Owner && !slices.Contains(f.Former, owner) {
		return Decision{Taken: fmt.Sprintf("%s belongs to %s, says the TXT record %s. Use another name, or delete the records there", f.Host, owner, RegistrationOf(f.Host))}
	}
	for _, set := range f.There {
		if set.Name == f.Host && (set.Type == "LUA" && !registered || slices.Contains([]string{"A", "AAAA", "CNAME", "ALIAS", "DNAME", "NS"}, set.Type)) {
			return Decision{Taken: fmt.Sprintf("%s has records of type %s that Yuba did not write (%s). Delete them on the server, or use another name", f.Host, set.Type, shown(set.Contents))}
		}
	}
	wanted := RRset{Name: f.Host, Type: "LUA", TTL: f.TTL, Contents: f.Wanted}
	if text == f.text() && slices.ContainsFunc(f.There, wanted.same) {
		return Decision{}
	}
	d := Decision{Changes: []RRset{wanted, {Name: RegistrationOf(f.Host), Type: "TXT", TTL: ownerTTL, Contents: []string{quoted(f.text())}}}}
	if f.Kept {
		d.Repaired = f.changed(d.Changes)
	}
	return d
}

// changed says what the record sets are that differ from wanted ones.
func (f *Facts) changed(wanted []RRset) (all []string) {
	for _, w := range wanted {
		is := "missing"
		for _, set := range f.There {
			if set.Name == w.Name && set.Type == w.Type && len(set.Contents) > 0 {
				is = fmt.Sprintf("%s with TTL %d", shown(set.Contents), set.TTL)
				if set.same(w) || w.Type == "TXT" && unquoted(set.Contents[0]) == f.text() {
					is = ""
				}
			}
		}
		if is != "" {
			all = append(all, fmt.Sprintf("%s %s was %s", w.Name, w.Type, is))
		}
	}
	return all
}

// text is what our registration says.
func (f *Facts) text() string {
	if f.Place == "" {
		return f.Owner
	}
	return f.Owner + placeMark + f.Place
}

// registration is the owner of the name's records, and the place that was meant.
func (f *Facts) registration() (registered bool, text string) {
	for _, set := range f.There {
		if set.Name == RegistrationOf(f.Host) && set.Type == "TXT" && len(set.Contents) > 0 {
			return true, unquoted(set.Contents[0])
		}
	}
	return false, ""
}

func (r RRset) same(other RRset) bool {
	return r.Name == other.Name && r.Type == other.Type && r.TTL == other.TTL && slices.Equal(sorted(r.Contents), sorted(other.Contents))
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// shown shows contents that somebody else wrote, short.
func shown(contents []string) string {
	text := strings.Join(contents, ", ")
	if len(text) > 100 {
		text = text[:100] + "…"
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
