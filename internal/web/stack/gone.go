// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/policy/audit"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// maxEvents limits the events and the records of the audit log on a page.
const maxEvents = 100

// event is an event, or a record of the audit log.
type event struct {
	At            time.Time
	Kind          string
	Reason        string
	Says          string
	Who           string
	Run, Plan     string
	Count         int32
	Warning, Link bool
}

// trace is what is left of something that is gone.
type trace struct {
	Says   string
	Events []event
	// NoEvents and NoAudit say why there are none.
	NoEvents, NoAudit string
}

// gone says what became of a stack that does not exist.
func gone(r *site.Request, key types.NamespacedName) (*site.Page, error) {
	t := trace{Says: "There is no stack " + key.String() + "."}
	readTrace(r, key, "", &t)
	switch {
	case len(t.Events) > 0:
		t.Says += " The last that is known of it:"
	default:
		t.Says += " Nothing is known of one with this name: it was never there, or was deleted some time ago."
	}
	return &site.Page{Title: key.String() + " is gone", Section: section, Trail: []site.Link{{Text: "Stacks", Address: section}}, Code: http.StatusNotFound,
		Parts: []site.Part{{ID: "stack-trace", View: "stack-trace", Data: t}}, Commands: []string{"yuba list -n " + key.Namespace, "yuba audit " + key.String()}}, nil
}

// readTrace reads the events and the audit records of a stack; with a run only those that name it.
// What the person may not read is left out, and says so.
func readTrace(r *site.Request, key types.NamespacedName, run string, t *trace) {
	events, err := eventsOf(r, key)
	if err != nil {
		t.NoEvents = "Its events cannot be read: " + err.Error() + "."
	}
	records, err := auditOf(r, key)
	if err != nil {
		t.NoAudit = "Its audit log cannot be read: " + err.Error() + "."
	}
	for _, e := range append(events, records...) {
		if run == "" || e.Run == run || strings.Contains(e.Says, run) {
			t.Events = append(t.Events, e)
		}
	}
	slices.SortStableFunc(t.Events, func(a, b event) int { return b.At.Compare(a.At) })
	t.Events = t.Events[:min(len(t.Events), maxEvents)]
}

func eventsOf(r *site.Request, key types.NamespacedName) ([]event, error) {
	var list corev1.EventList
	err := r.As.Objects.List(r.Context(), &list, client.InNamespace(key.Namespace),
		client.MatchingFields{"involvedObject.kind": "Terraform", "involvedObject.name": key.Name})
	if err != nil {
		return nil, err
	}
	return eventRows(list.Items), nil
}

// eventRows are events, the latest first.
func eventRows(items []corev1.Event) []event {
	rows := make([]event, 0, len(items))
	for i := range items {
		e := &items[i]
		at := e.LastTimestamp.Time
		if at.IsZero() {
			at = e.EventTime.Time
		}
		if at.IsZero() {
			at = e.CreationTimestamp.Time
		}
		rows = append(rows, event{At: at, Kind: "event", Reason: e.Reason, Says: e.Message, Count: e.Count, Warning: e.Type == corev1.EventTypeWarning})
	}
	slices.SortStableFunc(rows, func(a, b event) int { return b.At.Compare(a.At) })
	return rows
}

func auditOf(r *site.Request, key types.NamespacedName) ([]event, error) {
	list, err := r.As.Content.Audit(r.Context(), key.Namespace, key.Name)
	if err != nil {
		return nil, err
	}
	var rows []event
	for _, chain := range list.Chains {
		rows = append(rows, auditRows(chain)...)
	}
	return rows, nil
}

// auditRows are the records of an audit log. Damaged ones are left to "yuba audit verify".
func auditRows(chain audit.Chain) []event {
	var rows []event
	for _, entry := range chain.Items {
		record, err := entry.Decode()
		if err != nil {
			continue
		}
		rows = append(rows, event{At: record.At, Kind: "audit", Reason: string(record.Kind) + " " + record.Verdict, Says: record.Message, Who: record.Who.User,
			Run: record.Run, Plan: record.Plan})
	}
	return rows
}
