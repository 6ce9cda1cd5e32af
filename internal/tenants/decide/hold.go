// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Hold is a deletion that waits for somebody to confirm it.
type Hold struct {
	// ID is what has to be confirmed. It stands for exactly these tenants, and for this time that they are held.
	ID    string
	Since time.Time
	// Tenants would go, Count of them. Those who remember a hold may leave names out.
	Tenants []string
	Count   int
	// Message says why they are held.
	Message string
	// Confirmed is true when somebody has confirmed it. Count is how many of the tenants are still to go.
	Confirmed bool
	// Covered stands for the tenants that were confirmed, whether or not they have gone: markSize bytes for each. It is empty
	// before, and where there are more than can be kept.
	Covered []byte
}

const (
	// markSize is how many bytes stand for a tenant, mostCovered for how many tenants they are kept.
	markSize    = 8
	mostCovered = 20000
)

// hold says which of the due tenants go, and which are held.
func hold(f RegistryFacts, living []Existing, due []Going) ([]Going, *Hold) {
	held, message := doubtful(f, living, due)
	if len(held) == 0 {
		return due, nil
	}
	names := make([]string, len(held))
	for i, g := range held {
		names[i] = g.Tenant
	}
	h := &Hold{Since: f.Now, Tenants: names, Count: len(names), Message: message}
	if f.Held != nil && f.Held.ID == identify(living, names, f.Held.Since) {
		h.Since = f.Held.Since
	}
	h.ID = identify(living, names, h.Since)
	switch {
	case f.Confirmed != "" && f.Confirmed == h.ID:
		h.Confirmed, h.Covered = true, cover(living, names)
		return due, h
	case f.Held != nil && f.Held.Confirmed && f.Confirmed == f.Held.ID && f.Held.covers(living, names):
		// It was confirmed, and something came between: no more than was confirmed goes on.
		h.ID, h.Since, h.Confirmed, h.Covered = f.Held.ID, f.Held.Since, true, f.Held.Covered
		return due, h
	}
	stay := map[string]bool{}
	for _, name := range names {
		stay[name] = true
	}
	return slices.DeleteFunc(slices.Clone(due), func(g Going) bool { return stay[g.Tenant] }), h
}

// covers tells whether tenants are among those that were confirmed. Tenants that were made anew are others.
func (h *Hold) covers(living []Existing, names []string) bool {
	covered := map[string]bool{}
	for mark := range slices.Chunk(h.Covered, markSize) {
		covered[string(mark)] = true
	}
	for mark := range slices.Chunk(marks(living, names), markSize) {
		if !covered[string(mark)] {
			return false
		}
	}
	return true
}

// cover stands for tenants; it is empty when they are too many to be kept.
func cover(living []Existing, names []string) []byte {
	if len(names) > mostCovered {
		return nil
	}
	return marks(living, names)
}

// marks are markSize bytes for each tenant, in the order of the names.
func marks(living []Existing, names []string) []byte {
	identities := identitiesOf(living)
	all := make([]byte, 0, markSize*len(names))
	for _, name := range names {
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", name, identities[name]))
		all = append(all, sum[:markSize]...)
	}
	return all
}

func identitiesOf(living []Existing) map[string]string {
	identities := map[string]string{}
	for _, t := range living {
		identities[t.Name] = t.Identity
	}
	return identities
}

// doubtful are the due tenants that must not go before somebody has confirmed it, and why.
func doubtful(f RegistryFacts, living []Existing, due []Going) ([]Going, string) {
	uids := map[string]string{}
	all := map[string]bool{}
	for _, t := range living {
		uids[t.Name] = t.UID
		all[t.UID] = true
	}
	going := map[string]bool{}
	for _, g := range due {
		going[uids[g.Tenant]] = true
	}
	now := len(going)
	for _, uid := range f.Recent {
		all[uid], going[uid] = true, true
	}
	if most := max(1, len(all)*f.MaxDelete/100); now > 0 && len(going) > most {
		before := ""
		if recent := len(going) - now; recent > 0 {
			before = fmt.Sprintf(", after %d a moment ago", recent)
		}
		return due, fmt.Sprintf("%d of %d rows would lose their tenants at once%s (%s), and %s may", now, len(all), before, reasons(due), atMost(most, f.MaxDelete))
	}
	if f.Nameless == 0 {
		return nil, ""
	}
	// A row that has lost its uid looks like a row that is gone.
	missing := slices.DeleteFunc(slices.Clone(due), func(g Going) bool { return g.Because != RowMissing })
	if len(missing) == 0 {
		return nil, ""
	}
	return missing, fmt.Sprintf("the rows of %s are gone, and %s no uid: it may be theirs. Give it one, remove it, or leave it out with source.where",
		Count(len(missing), "tenant", "tenants"), Count(f.Nameless, "row has", "rows have"))
}

// reasons says why tenants are not wanted, with how many there are for each.
func reasons(due []Going) string {
	var parts []string
	for _, because := range []string{RowMissing, RowInactive, TemplateDeleted} {
		n := 0
		for _, g := range due {
			if g.Because == because {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s because %s", Count(n, "tenant", "tenants"), because))
		}
	}
	return strings.Join(parts, "; ")
}

func atMost(most, percent int) string {
	if most == 1 {
		return "only one"
	}
	return fmt.Sprintf("only %d (%d %%)", most, percent)
}

// identify stands for exactly these tenants that are held since then. Tenants that come again later are others.
func identify(living []Existing, names []string, since time.Time) string {
	identities := identitiesOf(living)
	var all []string
	for _, name := range names {
		all = append(all, fmt.Sprintf("%q %q", name, identities[name]))
	}
	slices.Sort(all)
	// Times are written down in whole seconds.
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d %s", since.Unix(), strings.Join(all, "\n"))))
	return hex.EncodeToString(sum[:])[:12]
}
