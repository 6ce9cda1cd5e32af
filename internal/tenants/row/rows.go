// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package row

import (
	"fmt"
	"slices"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// Rejected is a row that no tenant can be made of.
type Rejected struct {
	// UID is as the column has it; empty when the row has none. SafeUID is as in [Row].
	UID, SafeUID string
	// Reason says why, as a part of a sentence.
	Reason string
}

// Named tells whether it is known whose row it is.
func (r Rejected) Named() bool { return r.SafeUID != "" }

// maxNamed bounds what a message says of a uid: it is somebody's text.
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

// Told says which rows are rejected, and why, in so many texts at most: one for those that share a
// uid, and how many have none. It depends on no row but these: in a busy table rows come and go
// before them all the time.
func Told(rejected []Rejected, most int) []string {
	count := map[Rejected]int{}
	for _, r := range rejected {
		if !r.Named() {
			r.UID = "" // blanks are none
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

// Rows says what raw rows mean, in their order. Rows that no tenant can be made of are rejected:
// they have no uid, lack a column, or have the uid of another row. In that last case all of them
// are: which one is right is not known.
func Rows(raw []map[string]*string, m tenantv1.ValueMappings, extra map[string]string) (rows []Row, rejected []Rejected) {
	mapped, errs := make([]Row, len(raw)), make([]error, len(raw))
	owners := map[string]int{}
	for i, columns := range raw {
		mapped[i], errs[i] = Map(columns, m, extra)
		// A row with another fault takes part: what it says of its uid is not to be trusted either
		// way.
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
