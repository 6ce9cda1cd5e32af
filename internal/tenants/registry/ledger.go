// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/times"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
)

// account is the memory of a registry. Only its own passes change it, except for fields that the
// ledger guards.
type account struct {
	// last is the last reading, good the last successful one.
	last, good *reading
	// underway is true during a reading; arrived is its result until the next pass takes it.
	underway bool
	arrived  *reading
	// news is true if the rows may have changed, wanted if they must be read now.
	news, wanted bool
	// sameSince is the first reading of the current rows, firstGood the first one of this server.
	sameSince, firstGood time.Time
	// failures counts failed readings in a row.
	failures int
	// stale counts passes in a row with outdated tenants.
	stale int
	// refused are failed writes, by change.
	refused map[string]*passes.Refusal
	// let has the uids of tenants deleted without confirmation, and the times.
	let map[string]time.Time
	// settled are tenants known to be current; overlay those written here, until the cache has
	// them.
	settled map[string]settlement
	overlay map[string]written
	// renders are tenants known to render.
	renders map[string]settlement
	// heldTold is the number of tenants in the last event about a held deletion.
	heldTold int
}

// ledger holds the accounts of all registries.
type ledger struct {
	mu       sync.Mutex
	accounts map[types.NamespacedName]*account
}

func newLedger() *ledger { return &ledger{accounts: map[types.NamespacedName]*account{}} }

// of returns the account of a registry.
func (l *ledger) of(name types.NamespacedName) *account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[name]
	if a == nil {
		a = &account{settled: map[string]settlement{}, renders: map[string]settlement{}, overlay: map[string]written{}, let: map[string]time.Time{},
			refused: map[string]*passes.Refusal{}}
		l.accounts[name] = a
	}
	return a
}

func (l *ledger) forget(name types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.accounts, name)
}

// news records that the rows of a registry may have changed.
func (l *ledger) news(name types.NamespacedName) {
	a := l.of(name)
	l.mu.Lock()
	defer l.mu.Unlock()
	a.news = true
}

// want records that the rows must be read now.
func (l *ledger) want(a *account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.wanted = true
}

// begin reports whether to read the rows now, and if so, records that a reading began.
func (l *ledger) begin(a *account, obj *tenantv1.TenantRegistry, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.underway || now.Before(a.dueReading(obj)) {
		return false
	}
	a.underway, a.news, a.wanted = true, false, false
	return true
}

// nextLook is when a pass must begin the next reading. It is zero during a reading, whose end
// requests a pass.
func (l *ledger) nextLook(a *account, obj *tenantv1.TenantRegistry, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.underway || a.arrived != nil {
		return time.Time{}
	}
	if due := a.dueReading(obj); due.After(now) {
		return due
	}
	return now
}

// arrive records the result of a reading. Without a result, the rows still have to be read.
func (l *ledger) arrive(a *account, got *reading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.underway, a.arrived = false, got
	a.news = a.news || got == nil
}

// take accepts an arrived reading, and reports whether there was one.
func (l *ledger) take(a *account) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	got := a.arrived
	a.arrived = nil
	switch {
	case got == nil:
		return false
	case got.err != nil:
		a.failures++
		a.last = got
		return true
	}
	if a.good == nil || a.good.digest != got.digest || a.good.uid != got.uid {
		a.sameSince = got.at
	}
	if a.good == nil {
		a.firstGood = got.at
	}
	a.failures, a.last, a.good = 0, got, got
	return true
}

// forgetLet drops older deletions. It returns the uids of the others, and when to drop the next.
func (a *account) forgetLet(now time.Time, while time.Duration) (uids []string, next time.Time) {
	maps.DeleteFunc(a.let, func(_ string, at time.Time) bool { return !now.Before(at.Add(while)) })
	for uid, at := range a.let {
		uids = append(uids, uid)
		next = times.Earlier(next, at.Add(while))
	}
	slices.Sort(uids)
	return uids, next
}

// settlement identifies a tenant that was found to be current.
type settlement struct {
	uid types.UID
	// tenant and template are generations, row the digest of the row, marks the tenant's labels and
	// annotations.
	tenant, template int64
	templateUID      types.UID
	row              string
	marks            [sha256.Size]byte
}

func settlementOf(t *tenantv1.Tenant, template *tenantv1.TenantTemplate, rowDigest string) settlement {
	return settlement{uid: t.UID, tenant: t.Generation, template: template.Generation, templateUID: template.UID, row: rowDigest, marks: owned.Marks(t)}
}

// written is a tenant as the API returned it from a write.
type written struct {
	tenant *tenantv1.Tenant
	// known is true if the cache had the tenant before, deleted if it was deleted.
	known, deleted bool
	// at is when that was.
	at time.Time
}
