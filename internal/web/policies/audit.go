// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/policy/audit"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// record is a record of the audit log as the page shows it.
type record struct {
	audit.Record
	Key, Address, Digest string
	// Unreadable is true if somebody has changed the record.
	Unreadable bool
}

// recordsOf are the records of all chains with all words of a query, newest first.
func recordsOf(chains []audit.Chain, query string) []record {
	var list []record
	for _, chain := range chains {
		for i, e := range chain.Items {
			r := record{Key: chain.Namespace + "/" + chain.Stack, Address: site.Path("stacks", chain.Namespace, chain.Stack), Digest: e.Digest}
			var err error
			if r.Record, err = e.Decode(); err != nil {
				r.Record, r.Unreadable = audit.Record{Number: int64(i + 1)}, true
			}
			if r.matches(query) {
				list = append(list, r)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b record) int { return b.At.Compare(a.At) })
	return list
}

func (r *record) matches(query string) bool {
	text := strings.ToLower(strings.Join([]string{r.Key, string(r.Kind), r.Who.User, r.Plan, r.Verdict, r.Message, r.Run}, " "))
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

const (
	// maxRecords and maxReading limit what a page reads of the audit log, each record of which is a file.
	// The command has no limits.
	maxRecords = 5000
	maxReading = 3 * time.Second
)

// readLog reads parts of the audit log until its end or a limit; cut is true if there is more. read returns
// the part after a place.
func readLog(read func(after string) (content.AuditList, error), now func() time.Time) (chains []audit.Chain, cut bool, err error) {
	records, end := 0, now().Add(maxReading)
	for after := ""; ; {
		part, err := read(after)
		if err != nil {
			return nil, false, err
		}
		chains = append(chains, part.Chains...)
		for _, chain := range part.Chains {
			records += len(chain.Items)
		}
		if after = part.Continue; after == "" {
			return chains, false, nil
		}
		if records >= maxRecords || now().After(end) {
			return chains, true, nil
		}
	}
}

// auditLog is the data of the template of the audit log.
type auditLog struct {
	Query, Namespace, Stack string
	Rows                    []record
	Pager                   pieces.Pager
	Why                     string
	// Cut says that there are more records than were read.
	Cut bool
}

func auditPage(r *site.Request) (*site.Page, error) {
	q := r.URL.Query()
	d := auditLog{Query: q.Get("q"), Namespace: strings.TrimSpace(q.Get("namespace")), Stack: strings.TrimSpace(q.Get("stack"))}
	if d.Namespace == "" && d.Stack != "" {
		return nil, site.BadRequest("A stack needs its namespace: add namespace=NAMESPACE to the address.", "")
	}
	for _, name := range []string{d.Namespace, d.Stack} {
		if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
			return nil, site.BadRequest("No namespace or stack can be called "+name+".", "")
		}
	}
	chains, cut, err := readLog(func(after string) (content.AuditList, error) {
		return r.As.Content.AuditPage(r.Context(), d.Namespace, d.Stack, after, 0)
	}, time.Now)
	d.Cut = cut
	if d.Why = pieces.Why(err); apierrors.IsForbidden(err) {
		d.Why += " To read the log you need the role yuba:auditor."
	}
	d.Rows, d.Pager = pieces.Cut(recordsOf(chains, d.Query), r.URL)
	commands := []string{"yuba audit -A", "yuba audit -A -o json > audit.json", "yuba audit verify -A"}
	if d.Stack != "" {
		commands = []string{"yuba audit " + d.Namespace + "/" + d.Stack, "yuba audit verify " + d.Namespace + "/" + d.Stack}
	}
	return &site.Page{Title: "Audit log", Section: Section, Trail: []site.Link{{Text: "Policy & audit", Address: Section}}, Wide: true, Commands: commands,
		Parts: []site.Part{tabs(auditAddress), {ID: "audit", View: "policies-audit", Data: d}}}, nil
}
