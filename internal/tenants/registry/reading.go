// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/times"
	"github.com/yuba-dev/yuba/internal/tenants/database"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// reading is the result of reading a registry's rows.
type reading struct {
	// uid and generation are the registry's; asked is the request that it answers.
	uid        types.UID
	generation int64
	asked      string
	// at is when it ended, took its duration.
	at   time.Time
	took time.Duration
	// err is the reason why there are no rows.
	err error
	// deaf is the reason why the source does not signal changes; empty if it does.
	deaf string

	total    int
	rows     []row.Row
	rejected []row.Rejected
	// told lists the rejected rows and the reasons.
	told []string
	// digest identifies all rows, digests single ones by safe uid.
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

// maxSamples is the maximum number of rows to try a template with until one succeeds.
const maxSamples = 5

// samples are the first active rows.
func (r *reading) samples() []passes.Sample {
	var list []passes.Sample
	for i := range r.rows {
		if r.rows[i].Active && len(list) < maxSamples {
			list = append(list, passes.Sample{Row: r.rows[i], Digest: r.digests[r.rows[i].SafeUID]})
		}
	}
	return list
}

// Pauses after failures double from the first one, or from a shorter interval, to the longest one.
const (
	firstPause   = 5 * time.Second
	longestPause = 5 * time.Minute
)

// nextReading is when to read the rows again without an event. The first retries follow soon, since
// databases restart within seconds; later ones are rare.
func (a *account) nextReading(interval time.Duration) time.Time {
	switch {
	case a.last == nil:
		return time.Time{}
	case a.failures == 0:
		return a.last.at.Add(interval)
	}
	return a.last.at.Add(passes.Backoff(min(interval, firstPause), longestPause, a.failures-1))
}

// newsPause is the pause after a reading, as a multiple of its duration: a busy table must not keep
// the database and this server busy.
const newsPause = 3

// mostCalm is the minimum of that pause after many failures, in seconds.
const mostCalm = 5

// dueReading is when to read the rows; the zero time means now.
func (a *account) dueReading(obj *tenantv1.TenantRegistry) time.Time {
	interval := obj.Spec.Source.Interval()
	asked, _ := meta.ReconcileAnnotationValue(obj.Annotations)
	if a.wanted || a.last == nil || a.last.uid != obj.UID || a.last.generation != obj.Generation || a.last.asked != asked {
		return time.Time{}
	}
	next := a.nextReading(interval)
	if a.news {
		// The change may fix a failure, but a failing source must not be read at each change.
		calm := time.Duration(max(min(a.failures-1, mostCalm), 0)) * time.Second
		return times.Earlier(next, a.last.at.Add(max(min(newsPause*a.last.took, interval), calm)))
	}
	return next
}

// longestReading limits a reading, including all preparations.
const longestReading = 5 * time.Minute

// readBeside reads the rows of a registry in the background, and requests a pass afterwards.
func (r *Controller) readBeside(name types.NamespacedName, a *account, obj *tenantv1.TenantRegistry) {
	go func() {
		var got *reading
		defer r.queue.Add(name, 0)
		defer func() { r.ledger.arrive(a, got) }()
		ctx, cancel := context.WithTimeout(r.Base, longestReading)
		defer cancel()
		select {
		case r.slots <- struct{}{}:
			defer func() { <-r.slots }()
		case <-ctx.Done():
			return
		}
		if got = r.read(ctx, obj); r.Base.Err() != nil {
			got = nil
		}
	}()
}

// read reads the rows of a registry.
func (r *Controller) read(ctx context.Context, obj *tenantv1.TenantRegistry) *reading {
	name := types.NamespacedName{Namespace: obj.Namespace, Name: obj.Name}
	got := &reading{uid: obj.UID, generation: obj.Generation}
	got.asked, _ = meta.ReconcileAnnotationValue(obj.Annotations)
	began := r.Now()
	raw, err := r.readRaw(ctx, name, obj)
	got.at = r.Now()
	got.took = got.at.Sub(began)
	if err != nil {
		got.err = err
		return got
	}
	got.total, got.deaf = len(raw.Rows), raw.Deaf
	got.rows, got.rejected = row.Rows(raw.Rows, obj.Spec.ValueMappings, obj.Spec.ExtraValueMappings)
	got.told = row.Told(got.rejected, tenantv1.MaxNamed)
	got.digests = make(map[string]string, len(got.rows))
	all := make([]string, 0, got.total)
	for i := range got.rows {
		d := rowDigest(&got.rows[i])
		got.digests[got.rows[i].SafeUID] = d
		all = append(all, d)
	}
	for _, rejected := range got.rejected {
		all = append(all, rejected.String())
	}
	// The order of a document's rows may vary.
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	got.digest = hex.EncodeToString(sum[:])
	return got
}

// readRaw reads the registry's source. Data that makes a driver panic must not end the server.
func (r *Controller) readRaw(ctx context.Context, name types.NamespacedName, obj *tenantv1.TenantRegistry) (raw *database.Reading, err error) {
	defer func() {
		if stumbled := recover(); stumbled != nil {
			r.Log.Error("panic while reading the rows of a registry", "registry", name.String(), "error", fmt.Sprint(stumbled), "stack", string(debug.Stack()))
			raw, err = nil, &database.Error{Class: database.Failed, Doing: "read the rows", Why: "the driver failed on the source's response", Then: "This is a bug in Yuba."}
		}
	}()
	source, opened, err := r.pool.Get(ctx, name.String(), obj.Spec.Source, lookups{reader: r.Reader, namespace: obj.Namespace})
	if err != nil {
		return nil, err
	}
	if opened {
		// The channel ends with the source, which the pool closes when it opens another one for the
		// registry.
		if changes := source.Changes(r.Base); changes != nil {
			go r.heed(name, changes)
		}
	}
	return source.Read(ctx, database.Query{Columns: columns(obj), Where: obj.Spec.Source.Where})
}

// columns are the columns to read, the uid first, which is the order of rows.
func columns(obj *tenantv1.TenantRegistry) []string {
	return append([]string{obj.Spec.ValueMappings.UID}, row.Columns(obj.Spec.ValueMappings, obj.Spec.ExtraValueMappings)...)
}

// heed requests a reading whenever a source signals changes.
func (r *Controller) heed(name types.NamespacedName, changes <-chan struct{}) {
	for range changes {
		r.ledger.news(name)
		r.queue.Add(name, 0)
	}
}

func rowDigest(r *row.Row) string {
	// A map's keys are sorted.
	content, err := json.Marshal(r)
	if err != nil {
		// A row can be encoded.
		return ""
	}
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:16])
}

// failureReason is the reason of the condition Ready for an error of a reading.
func failureReason(err error) string {
	switch database.ClassOf(err) {
	case database.AccessDenied:
		return tenantv1.ReasonSourceDenied
	case database.NotFound:
		return tenantv1.ReasonSourceNotFound
	case database.TooMuch:
		return tenantv1.ReasonSourceTooLarge
	case database.Invalid:
		return tenantv1.ReasonSourceInvalid
	}
	return tenantv1.ReasonDatabaseConnectionFailed
}
