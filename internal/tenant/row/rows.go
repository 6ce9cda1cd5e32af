// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package row

import (
	"fmt"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// Rejected is a row that no tenant can be made of.
type Rejected struct {
	// Index is its place among the rows, from 0.
	Index int
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
		return fmt.Sprintf("row %d: %s", r.Index+1, r.Reason)
	}
	uid := []rune(r.UID)
	if len(uid) > maxNamed {
		uid = append(uid[:maxNamed:maxNamed], '…')
	}
	return fmt.Sprintf("row %d (uid %q): %s", r.Index+1, string(uid), r.Reason)
}

// Rows says what raw rows mean, in their order. Rows that no tenant can be made of are rejected: they have no uid, lack a column, or
// have the uid of another row. In that last case all of them are: which one is right is not known.
func Rows(raw []map[string]*string, m tenantv1.ValueMappings, extra map[string]string) (rows []Row, rejected []Rejected) {
	mapped, errs := make([]Row, len(raw)), make([]error, len(raw))
	owners := map[string][]int{}
	for i, columns := range raw {
		mapped[i], errs[i] = Map(columns, m, extra)
		// A row with another fault takes part: what it says of its uid is not to be trusted either way.
		if safe := mapped[i].SafeUID; safe != "" {
			owners[safe] = append(owners[safe], i)
		}
	}
	for i, r := range mapped {
		no := Rejected{Index: i, UID: r.UID, SafeUID: r.SafeUID}
		switch {
		case errs[i] != nil:
			no.Reason = errs[i].Error()
		case len(owners[r.SafeUID]) > 1:
			no.Reason = clash(mapped, owners[r.SafeUID], i)
		default:
			rows = append(rows, r)
			continue
		}
		rejected = append(rejected, no)
	}
	return rows, rejected
}

// clash says which other row has the uid, or one that cannot be told from it in names.
func clash(mapped []Row, owners []int, i int) string {
	for _, other := range owners {
		if other == i {
			continue
		}
		if mapped[other].UID == mapped[i].UID {
			return fmt.Sprintf("row %d has the same uid, and a tenant has one row", other+1)
		}
	}
	other := owners[0]
	if other == i {
		other = owners[1]
	}
	return fmt.Sprintf("its uid and that of row %d are %q in names of objects; one of them has to be another", other+1, mapped[i].SafeUID)
}
