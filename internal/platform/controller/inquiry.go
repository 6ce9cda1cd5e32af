// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/platform/plan"
)

const (
	// askAgain is how soon the resolver is asked again for records that are missing. It keeps a negative answer, too.
	askAgain = 15 * time.Second
	// askSometimes is how often it is asked for records that exist, and at least how often if it does not answer.
	askSometimes = 5 * time.Minute
	// askFor bounds the questions about one platform.
	askFor = 10 * time.Second
	// askers limits the questions about one platform at a time, and inquirers the platforms.
	askers, inquirers = 8, 16
)

// inquiries are the questions about the records of platforms. They are asked beside the passes: whoever names a resolver that
// does not answer delays no other platform.
type inquiries struct {
	sync.Mutex
	of map[types.NamespacedName]*inquiry
	// turns limits the platforms at a time.
	turns chan struct{}
	// ended wakes the workers when a platform's questions are answered.
	ended chan event.GenericEvent
	// ctx ends with the server.
	ctx context.Context //nolint:containedctx // questions outlive the pass that asks them
}

func newInquiries(ctx context.Context) *inquiries {
	return &inquiries{of: map[types.NamespacedName]*inquiry{}, turns: make(chan struct{}, inquirers), ended: make(chan event.GenericEvent), ctx: ctx}
}

// inquiry is what a resolver said last about a platform. A record that is unknown without a message was not asked for yet.
type inquiry struct {
	uid      types.UID
	resolver string
	records  []yubav1.PlatformRecord
	// version counts the changes of what is asked. An answer to an earlier question is dropped.
	version int
	// asking is true while the resolver is being asked, and due when it is to be asked again.
	asking bool
	due    time.Time
	// failures counts how often in a row it did not answer.
	failures int
}

// manualRecords are the records that people create for a platform, with what the resolver said last about them, and when it is
// to be asked again; 0 if the end of its questions makes another pass. For a platform that is refused, nobody is asked: what is
// known stays, and without that there are no records.
func (r *Reconciler) manualRecords(p *yubav1.Platform, given plan.Given, refused bool) ([]yubav1.PlatformRecord, time.Duration) {
	records := wantedRecords(p, given)
	if len(records) == 0 {
		return nil, 0
	}
	resolver := ""
	if m := p.Spec.Domain.Manual; m != nil {
		resolver = m.Resolver
	}
	r.inquiries.Lock()
	defer r.inquiries.Unlock()
	key := client.ObjectKeyFromObject(p)
	q := r.inquiries.of[key]
	switch {
	case q == nil || q.uid != p.UID:
		if q == nil && p.Status.ObservedGeneration == p.Generation {
			remember(records, p.Status.Records) // the server was restarted
		}
		q = &inquiry{uid: p.UID, resolver: resolver, records: records}
		r.inquiries.of[key] = q
	case q.resolver != resolver || !sameRecords(q.records, records):
		q.version++
		q.resolver, q.records, q.due = resolver, records, time.Time{}
	}
	left := q.due.Sub(r.Now())
	switch {
	case refused, p.Spec.Suspend:
		left = 0
		if !q.answered() {
			return nil, 0
		}
	case q.asking:
		left = 0
	case left <= 0:
		left, q.asking = 0, true
		go r.inquire(key, q, q.version, q.resolver, slices.Clone(q.records))
	}
	return slices.Clone(q.records), left
}

// answered reports whether a resolver has said something, or why it cannot.
func (q *inquiry) answered() bool {
	return slices.ContainsFunc(q.records, func(r yubav1.PlatformRecord) bool {
		return r.State != yubav1.RecordUnknown || r.Message != ""
	})
}

// remember fills in what the status says about records.
func remember(records, status []yubav1.PlatformRecord) {
	for i := range records {
		for j := range status {
			if sameRecords(records[i:i+1], status[j:j+1]) {
				records[i].State, records[i].Message = status[j].State, status[j].Message
			}
		}
	}
}

// inquire asks about one platform, keeps the answers and makes a pass. A platform has one at a time, however often what is
// asked changes.
func (r *Reconciler) inquire(key types.NamespacedName, q *inquiry, version int, resolver string, records []yubav1.PlatformRecord) {
	i := r.inquiries
	select {
	case i.turns <- struct{}{}:
	case <-i.ctx.Done():
		return
	}
	if i.current(q, version) {
		r.ask(i.ctx, resolver, records)
	}
	<-i.turns
	i.Lock()
	q.asking = false
	if q.version == version {
		q.records = records
		q.due = r.Now().Add(q.pause())
	}
	i.Unlock()
	select {
	case i.ended <- event.GenericEvent{Object: &yubav1.Platform{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}}:
	case <-i.ctx.Done():
	}
}

func (i *inquiries) current(q *inquiry, version int) bool {
	i.Lock()
	defer i.Unlock()
	return q.version == version
}

// pause is how long the answers are good for. It grows while the resolver does not answer.
func (q *inquiry) pause() time.Duration {
	has := func(state yubav1.PlatformRecordState) bool {
		return slices.ContainsFunc(q.records, func(r yubav1.PlatformRecord) bool { return r.State == state })
	}
	if has(yubav1.RecordUnknown) {
		q.failures++
		return min(askAgain<<min(q.failures-1, 8), askSometimes)
	}
	q.failures = 0
	if has(yubav1.RecordMissing) {
		return askAgain
	}
	return askSometimes
}

// ask asks the resolver for records, a few at a time.
func (r *Reconciler) ask(ctx context.Context, resolver string, records []yubav1.PlatformRecord) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	turns := make(chan struct{}, askers)
	var all sync.WaitGroup
	for i := range records {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			rec := &records[i]
			if r.Resolve == nil {
				rec.State, rec.Message = yubav1.RecordUnknown, "this server asks no resolver"
				return
			}
			wrong, err := r.Resolve(ctx, resolver, rec.Name, rec.Type, rec.Addresses)
			switch {
			case err != nil:
				rec.State, rec.Message = yubav1.RecordUnknown, shorten.Fit(shorten.Line(err.Error()), 300)
			case wrong != "":
				rec.State, rec.Message = yubav1.RecordMissing, shorten.Fit(shorten.Line(wrong), 300)
			default:
				rec.State, rec.Message = yubav1.RecordPresent, ""
			}
		})
	}
	all.Wait()
}

// forget drops what is known about a platform that was deleted.
func (i *inquiries) forget(key types.NamespacedName) {
	i.Lock()
	defer i.Unlock()
	delete(i.of, key)
}
