// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Owner identifies a claim. Claims of the same name on two Yuba servers have different UIDs.
type Owner struct {
	Server, Namespace, Name, UID string
	// Process tells bids of several processes for one claim apart. It is not part of a registration.
	Process string
}

// Registration is what the TXT record of a name says.
type Registration struct {
	Owner Owner
	// Until is the end of a reservation; zero for ever.
	Until time.Time
	// Write identifies the write that left it. Earlier versions wrote none.
	Write string
	// Text is the whole text.
	Text string
}

const (
	heritage = "heritage=yuba"
	resource = "subdomainclaim/"
	bidMark  = "._yuba-bid."
)

// RegistrationOf is the name that has the owner of a domain.
func RegistrationOf(domain string) string { return "_yuba." + domain }

// BidOf is the name of an owner's bid, which nobody else writes.
func BidOf(domain string, o Owner) string {
	sum := sha256.Sum256([]byte(o.UID + "/" + o.Process))
	return hex.EncodeToString(sum[:8]) + bidMark + domain
}

// registration is the text of a registration.
func (o Owner) registration(until time.Time, write string) string {
	text := heritage + ",owner=" + o.Server + ",resource=" + resource + o.Namespace + "/" + o.Name + ",uid=" + o.UID
	if !until.IsZero() {
		text += ",until=" + strconv.FormatInt(until.Unix(), 10)
	}
	if write != "" {
		text += ",write=" + write
	}
	return text
}

// bid is the text of a bid.
func (o Owner) bid(at time.Time) string {
	return o.registration(time.Time{}, "") + ",at=" + strconv.FormatInt(at.Unix(), 10)
}

// parse reads a registration. Those of others have no owner that equals one of ours.
func parse(text string) Registration {
	r := Registration{Text: text}
	fields := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		fields[key] = value
	}
	if fields["heritage"] != "yuba" {
		return r
	}
	if path, ok := strings.CutPrefix(fields["resource"], resource); ok {
		namespace, name, _ := strings.Cut(path, "/")
		r.Owner = Owner{Server: fields["owner"], Namespace: namespace, Name: name, UID: fields["uid"]}
		r.Write = fields["write"]
	}
	if seconds, err := strconv.ParseInt(fields["until"], 10, 64); err == nil && r.Owner.UID != "" {
		r.Until = time.Unix(seconds, 0)
	}
	return r
}

// ended reports whether a reservation is over for some time.
func (r Registration) ended(now time.Time, since time.Duration) bool {
	return !r.Until.IsZero() && !now.Before(r.Until.Add(since))
}

// registration is that of the domain.
func (f *Facts) registration() (Registration, bool) {
	text, found := f.text()
	if !found {
		return Registration{}, false
	}
	return parse(text), true
}

// named reports whether an owner is the claim, or a copy of it: here, at a home that it was moved from, or in a backup.
func (f *Facts) named(o Owner) bool {
	return o.UID != "" && (o.UID == f.Me.UID || slices.Contains(f.Former, o.UID))
}

// own reports whether the claim has the name. Its UID is not enough: a copy of a backup has the same. The last write decides,
// which only the copy knows that made it.
func (f *Facts) own(r Registration) bool {
	return f.named(r.Owner) && (r.Write == "" || slices.Contains(f.Writes, r.Write) || r.Write == f.TakeOverWrite)
}

// above is the registration of another claim that has a name above the domain, and thus all names below that one.
// It reports whether one is just being taken.
func (f *Facts) above() (text string, pending bool) {
	for _, set := range f.Above {
		if set.Type != "TXT" || len(set.Contents) == 0 {
			continue
		}
		r := parse(unquoted(set.Contents[0]))
		switch {
		case r.Owner.UID == "" || f.named(r.Owner):
		case strings.Contains(set.Name, bidMark):
			pending = pending || ageOf(r.Text, f.Now) <= BidAge
		case !r.ended(f.Now, Grace):
			return r.Text, false
		}
	}
	return "", pending
}

// RegisteredTo is the owner that a registration's text names; zero if it is none of a claim.
func RegisteredTo(text string) Owner { return parse(text).Owner }

// BidsOf is the name below which all bids for a domain are.
func BidsOf(domain string) string { return strings.TrimPrefix(bidMark, ".") + domain }

// text is that of the registration.
func (f *Facts) text() (string, bool) {
	if set := f.at(RegistrationOf(f.Domain), "TXT"); len(set.Contents) > 0 {
		return unquoted(set.Contents[0]), true
	}
	return "", false
}

// bids are those of the domain.
type bids struct {
	// mine is the name of ours, and fresh whether others respect it.
	mine  string
	fresh bool
	// others are alive, and stale ones are left by processes that died.
	others, stale []string
}

func (f *Facts) bids() (all bids) {
	all.mine = BidOf(f.Domain, f.Me)
	for _, set := range f.There {
		if set.Type != "TXT" || !strings.HasSuffix(set.Name, bidMark+f.Domain) || len(set.Contents) == 0 {
			continue
		}
		text := unquoted(set.Contents[0])
		age := ageOf(text, f.Now)
		switch {
		case set.Name == all.mine:
			all.fresh = age < BidAge/2
		case age > BidAge: // a younger bid excludes others, even if its claim has been deleted
			all.stale = append(all.stale, set.Name)
		default:
			all.others = append(all.others, set.Name)
		}
	}
	return all
}

// ageOf is how long ago a bid was made; 0 if it does not say.
func ageOf(bid string, now time.Time) time.Duration {
	_, at, _ := strings.Cut(bid, ",at=")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return 0
	}
	return now.Sub(time.Unix(seconds, 0))
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
