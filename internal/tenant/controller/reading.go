// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/owned"
	"github.com/yuba-dev/yuba/internal/tenant/row"
	"github.com/yuba-dev/yuba/internal/tenant/rows"
)

// reading is what came of reading a registry's rows.
type reading struct {
	// uid and generation are the registry's then, asked the request that it answered.
	uid        types.UID
	generation int64
	asked      string
	// at is when it ended.
	at time.Time
	// err is why there are no rows.
	err error

	total    int
	rows     []row.Row
	rejected []row.Rejected
	// digest stands for all of it, digests for the rows, by safe uid.
	digest  string
	digests map[string]string
}

func (r *reading) active() int {
	n := 0
	for i := range r.rows {
		if r.rows[i].Active {
			n++
		}
	}
	return n
}

// account is what is remembered of a registry. Only its own passes change it, but for news.
type account struct {
	// last is the last reading, good the last one that had rows.
	last, good *reading
	// news is true when something said that the rows may have changed.
	news bool
	// sameSince is when the rows were first read as they are now, firstGood when this server read them first.
	sameSince, firstGood time.Time
	// failures is how many readings in a row have failed.
	failures int
	// settled are tenants that were found to be as they should, and overlay those that were written here, until the cache
	// has them.
	settled map[string]settlement
	overlay map[string]written
	// renders are tenants that were found to render.
	renders map[string]settlement
	// rollouts are how far the templates' changes are, by template.
	rollouts map[string]*tenantv1.RolloutStatus
	// unrendered says, by template and tenant, what does not render.
	unrendered map[string]map[string]string
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
		a = &account{settled: map[string]settlement{}, renders: map[string]settlement{}, overlay: map[string]written{}, rollouts: map[string]*tenantv1.RolloutStatus{},
			unrendered: map[string]map[string]string{}}
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

func (l *ledger) takeNews(a *account) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	news := a.news
	a.news = false
	return news
}

// tellRollout keeps how far a template's change is, for the pass over the template.
func (l *ledger) tellRollout(a *account, template string, s *tenantv1.RolloutStatus, unrendered map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.rollouts[template], a.unrendered[template] = s, unrendered
}

func (l *ledger) rolloutOf(registry types.NamespacedName, template string) (*tenantv1.RolloutStatus, map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[registry]
	if a == nil {
		return nil, nil
	}
	return a.rollouts[template], a.unrendered[template]
}

// goodReading is the last reading that had rows; nil when there was none since the server started.
func (l *ledger) goodReading(registry types.NamespacedName) *reading {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[registry]; a != nil {
		return a.good
	}
	return nil
}

// longestPause is the longest time between two attempts to read what could not be read.
const longestPause = 5 * time.Minute

// nextReading is when the rows are to be read again.
func (a *account) nextReading(interval time.Duration) time.Time {
	if a.last == nil {
		return time.Time{}
	}
	pause := interval
	if a.failures > 0 {
		// The first failures are tried again at the interval, or earlier when that is long: databases restart within seconds.
		pause = min(interval, 5*time.Second<<min(a.failures-1, 10))
		if pause > longestPause {
			pause = longestPause
		}
	}
	return a.last.at.Add(pause)
}

// mustRead tells whether the rows are to be read now.
func (a *account) mustRead(obj *tenantv1.TenantRegistry, now time.Time, news bool) bool {
	asked, _ := meta.ReconcileAnnotationValue(obj.Annotations)
	return a.last == nil || a.last.uid != obj.UID || a.last.generation != obj.Generation || a.last.asked != asked || news ||
		!now.Before(a.nextReading(obj.Spec.Source.Interval()))
}

// read reads the rows of a registry.
func (r *Tenants) read(ctx context.Context, obj *tenantv1.TenantRegistry) *reading {
	name := types.NamespacedName{Namespace: obj.Namespace, Name: obj.Name}
	got := &reading{uid: obj.UID, generation: obj.Generation}
	got.asked, _ = meta.ReconcileAnnotationValue(obj.Annotations)
	raw, err := r.readRaw(ctx, name, obj)
	got.at = r.Now()
	if err != nil {
		got.err = err
		return got
	}
	got.total = len(raw)
	got.rows, got.rejected = row.Rows(raw, obj.Spec.ValueMappings, obj.Spec.ExtraValueMappings)
	got.digests = make(map[string]string, len(got.rows))
	all := sha256.New()
	for i := range got.rows {
		d := rowDigest(&got.rows[i])
		got.digests[got.rows[i].SafeUID] = d
		fmt.Fprintln(all, d)
	}
	for _, rejected := range got.rejected {
		fmt.Fprintln(all, rejected)
	}
	got.digest = hex.EncodeToString(all.Sum(nil))
	return got
}

func (r *Tenants) readRaw(ctx context.Context, name types.NamespacedName, obj *tenantv1.TenantRegistry) ([]map[string]*string, error) {
	source, opened, err := r.pool.Get(ctx, name.String(), obj.Spec.Source, lookups{reader: r.Reader, namespace: obj.Namespace})
	if err != nil {
		return nil, err
	}
	if opened {
		// The channel ends with the source, which the pool closes when it opens another one for the registry.
		if changes := source.Changes(r.base); changes != nil {
			go r.heed(name, changes)
		}
	}
	mappings := obj.Spec.ValueMappings
	got, err := source.Read(ctx, rows.Query{Columns: columns(obj), Where: obj.Spec.Source.Where, Limits: r.Limits})
	if err != nil {
		return nil, err
	}
	if missing := row.Missing(got.Rows, mappings, obj.Spec.ExtraValueMappings); len(missing) > 0 {
		return nil, &rows.Error{Class: rows.NotFound, Doing: "read the rows", Why: (&row.MissingColumnError{Columns: missing}).Error(),
			Then: "spec.valueMappings and spec.extraValueMappings name columns"}
	}
	return got.Rows, nil
}

// columns are what is read of each row, the uid first: rows come in its order.
func columns(obj *tenantv1.TenantRegistry) []string {
	return append([]string{obj.Spec.ValueMappings.UID}, row.Columns(obj.Spec.ValueMappings, obj.Spec.ExtraValueMappings)...)
}

// heed asks for a reading whenever a source says that its rows have changed.
func (r *Tenants) heed(name types.NamespacedName, changes <-chan struct{}) {
	for range changes {
		r.ledger.news(name)
		r.registryQueue.add(name, 0)
	}
}

func rowDigest(r *row.Row) string {
	// A map's keys are sorted.
	content, err := json.Marshal(r)
	if err != nil {
		// Texts and truths can be written.
		return ""
	}
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:16])
}

// take takes over a reading.
func (l *ledger) take(a *account, got *reading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if got.err != nil {
		a.failures++
		a.last = got
		return
	}
	if a.good == nil || a.good.digest != got.digest || a.good.uid != got.uid {
		a.sameSince = got.at
	}
	if a.good == nil {
		a.firstGood = got.at
	}
	a.failures, a.last, a.good = 0, got, got
}

// failureReason is the reason of the condition Ready for an error of a reading.
func failureReason(err error) string {
	switch rows.ClassOf(err) {
	case rows.AccessDenied:
		return tenantv1.ReasonSourceDenied
	case rows.NotFound:
		return tenantv1.ReasonSourceNotFound
	case rows.TooMuch:
		return tenantv1.ReasonSourceTooLarge
	case rows.Invalid:
		return tenantv1.ReasonSourceInvalid
	}
	return tenantv1.ReasonDatabaseConnectionFailed
}

// settlement is a tenant that was found to be as its row and its template say.
type settlement struct {
	uid types.UID
	// tenant and template are their generations, row the digest of its row, marks the tenant's labels and annotations.
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
}

// canceled tells whether an error says no more than that the server ends.
func canceled(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, context.Canceled))
}
