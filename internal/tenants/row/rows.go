// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package row

import (
	"fmt"
	"slices"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// Rejected is a row that is not valid for a tenant.
type Rejected struct {
	// UID is as in the column; empty if the row has none. SafeUID is as in [Row].
	UID, SafeUID string
	// Reason says why, as a part of a sentence.
	Reason string
}

// Named reports whether the row has a uid.
func (r Rejected) Named() bool { return r.SafeUID != "" }

// maxNamed limits a uid in messages.
const maxNamed = 80

func (r Rejected) String() string {
	if !r.Named() {
		return r.Reason
	}
	uid := []rune(r.UID)
	if len(uid) > maxNamed {
		uid = append(uid[:maxNamed:maxNamed], '…')
	}
	return fmt.Sprintf("uid %q: %s", string(uid), r.Reason)
}

// Told lists the rejected rows and the reasons, up to a number of texts: one for rows with the same
// uid, and one for all without. It does not depend on other rows, which change often in a busy
// table.
func Told(rejected []Rejected, most int) []string {
	count := map[Rejected]int{}
	for _, r := range rejected {
		if !r.Named() {
			r.UID = "" // it may have blanks
		}
		count[r]++
	}
	var texts []string
	for r, n := range count {
		text := r.String()
		switch {
		case r.Named():
		case n == 1:
			text = "1 row: " + text
		default:
			text = fmt.Sprintf("%d rows: %s", n, text)
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return texts[:min(len(texts), most)]
}

// Rows interprets raw rows, in their order. Rows without a uid or column are rejected, and so are
// all rows that share a uid, since the right one is unknown.
func Rows(raw []map[string]*string, m tenantv1.ValueMappings, extra map[string]string) (rows []Row, rejected []Rejected) {
	mapped, errs := make([]Row, len(raw)), make([]error, len(raw))
	owners := map[string]int{}
	for i, columns := range raw {
		mapped[i], errs[i] = Map(columns, m, extra)
		// Count rows with other faults: their uid may be meant.
		owners[mapped[i].SafeUID]++
	}
	for i, r := range mapped {
		no := Rejected{UID: r.UID, SafeUID: r.SafeUID}
		switch {
		case errs[i] != nil:
			no.Reason = errs[i].Error()
		case owners[r.SafeUID] > 1:
			no.Reason = fmt.Sprintf("%d rows have the same uid, and a tenant has one row", owners[r.SafeUID])
		default:
			rows = append(rows, r)
			continue
		}
		rejected = append(rejected, no)
	}
	return rows, rejected
}
