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

// Hold is a deletion that waits for confirmation.
type Hold struct {
	// ID is the id to confirm. It identifies exactly these tenants, and this hold.
	ID    string
	Since time.Time
	// Tenants would be deleted, Count of them. A stored hold may omit names.
	Tenants []string
	Count   int
	// Message says why they are held.
	Message string
	// Confirmed is true after the confirmation. Then Count is the number of tenants still to
	// delete.
	Confirmed bool
	// Covered identifies the confirmed tenants, deleted or not, with markSize bytes each. It is
	// empty before the confirmation, and if there are too many.
	Covered []byte
}

const (
	// markSize is the number of bytes for a tenant, mostCovered the maximum number of tenants in
	// Covered.
	markSize    = 8
	mostCovered = 20000
)

// hold returns the due tenants to delete now, and the held ones.
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
		// The confirmed deletion was interrupted: continue with confirmed tenants only.
		h.ID, h.Since, h.Confirmed, h.Covered = f.Held.ID, f.Held.Since, true, f.Held.Covered
		return due, h
	}
	stay := map[string]bool{}
	for _, name := range names {
		stay[name] = true
	}
	return slices.DeleteFunc(slices.Clone(due), func(g Going) bool { return stay[g.Tenant] }), h
}

// covers reports whether all tenants were confirmed. Recreated tenants count as others.
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

// cover identifies tenants; it is empty if there are too many.
func cover(living []Existing, names []string) []byte {
	if len(names) > mostCovered {
		return nil
	}
	return marks(living, names)
}

// marks returns markSize bytes for each tenant, in the order of the names.
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

// doubtful returns the due tenants that need confirmation, and why.
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
	// A row that has lost its uid looks like a deleted row.
	missing := slices.DeleteFunc(slices.Clone(due), func(g Going) bool { return g.Because != RowMissing })
	if len(missing) == 0 {
		return nil, ""
	}
	return missing, fmt.Sprintf("the rows of %s are gone, and %s no uid: it may be theirs. Give it one, remove it, or exclude it with source.where",
		Count(len(missing), "tenant", "tenants"), Count(f.Nameless, "row has", "rows have"))
}

// reasons lists why tenants are unwanted, with their numbers.
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

// identify identifies exactly these tenants, held since then. Recreated tenants count as others.
func identify(living []Existing, names []string, since time.Time) string {
	identities := identitiesOf(living)
	var all []string
	for _, name := range names {
		all = append(all, fmt.Sprintf("%q %q", name, identities[name]))
	}
	slices.Sort(all)
	// Times are stored in whole seconds.
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d %s", since.Unix(), strings.Join(all, "\n"))))
	return hex.EncodeToString(sum[:])[:12]
}
