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
	"github.com/yuba-dev/yuba/internal/kit/moment"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
)

// account is what is remembered of a registry. Only its own passes change it, but for what the
// ledger guards besides.
type account struct {
	// last is the last reading, good the last one that had rows.
	last, good *reading
	// underway is true while the rows are read; arrived is what came of that, until the next pass
	// takes it over.
	underway bool
	arrived  *reading
	// news is true when something said that the rows may have changed, wanted when they have to be
	// read now.
	news, wanted bool
	// sameSince is when the rows were first read as they are now, firstGood when this server read them
	// first.
	sameSince, firstGood time.Time
	// failures is how many readings in a row have failed.
	failures int
	// stale is how many passes in a row have found tenants that were not as they were thought to be.
	stale int
	// refused are writes that failed, by what was to be done.
	refused map[string]*passes.Refusal
	// let are the uids whose tenants were told to go without a confirmation, and when.
	let map[string]time.Time
	// settled are tenants that were found to be as they should, and overlay those that were written
	// here, until the cache has them.
	settled map[string]settlement
	overlay map[string]written
	// renders are tenants that were found to render.
	renders map[string]settlement
	// heldTold is how many tenants the last event about a held deletion was about.
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

// news says that the rows of a registry may have changed.
func (l *ledger) news(name types.NamespacedName) {
	a := l.of(name)
	l.mu.Lock()
	defer l.mu.Unlock()
	a.news = true
}

// want says that the rows have to be read now.
func (l *ledger) want(a *account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.wanted = true
}

// begin tells whether the rows are to be read now, and takes note that they are.
func (l *ledger) begin(a *account, obj *tenantv1.TenantRegistry, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.underway || now.Before(a.dueReading(obj)) {
		return false
	}
	a.underway, a.news, a.wanted = true, false, false
	return true
}

// nextLook is when a pass has to begin the next reading; the zero time while the rows are read, for
// the end of that calls for a pass.
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

// arrive takes note of what came of a reading; nil when nothing did, so that what it was begun for
// is still to be read.
func (l *ledger) arrive(a *account, got *reading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.underway, a.arrived = false, got
	a.news = a.news || got == nil
}

// take takes over what has arrived, and tells whether something has.
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

// forgetLet forgets which tenants were told to go longer than a while ago, and names the uids of
// the others, and when the first of them is forgotten.
func (a *account) forgetLet(now time.Time, while time.Duration) (uids []string, next time.Time) {
	maps.DeleteFunc(a.let, func(_ string, at time.Time) bool { return !now.Before(at.Add(while)) })
	for uid, at := range a.let {
		uids = append(uids, uid)
		next = moment.Earlier(next, at.Add(while))
	}
	slices.Sort(uids)
	return uids, next
}

// settlement is a tenant that was found to be as its row and its template say.
type settlement struct {
	uid types.UID
	// tenant and template are their generations, row the digest of its row, marks the tenant's labels
	// and annotations.
	tenant, template int64
	templateUID      types.UID
	row              string
	marks            [sha256.Size]byte
}

func settlementOf(t *tenantv1.Tenant, template *tenantv1.TenantTemplate, rowDigest string) settlement {
	return settlement{uid: t.UID, tenant: t.Generation, template: template.Generation, templateUID: template.UID, row: rowDigest, marks: owned.Marks(t)}
}

// written is a tenant as the API answered to a write.
type written struct {
	tenant *tenantv1.Tenant
	// known is true when the cache had the tenant before, deleted when it was told to go.
	known, deleted bool
	// at is when that was.
	at time.Time
}
