// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package row

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

func TestRows(t *testing.T) {
	m := tenantv1.ValueMappings{UID: "id", Activate: "on"}
	for sentence, c := range map[string]struct {
		raw      []map[string]*string
		want     []string
		rejected []string
	}{
		"no rows": {},
		"in their order, the inactive ones, too": {
			raw:  []map[string]*string{raw("id", "b", "on", "1"), raw("id", "a", "on", "0")},
			want: []string{"b", "a"}},
		"a row without a uid": {
			raw:      []map[string]*string{raw("id", "a", "on", "1"), raw("id", "NULL", "on", "1"), raw("id", "", "on", "1")},
			want:     []string{"a"},
			rejected: []string{"2 rows: no uid"}},
		"one row without a uid": {
			raw:      []map[string]*string{raw("id", " ", "on", "1")},
			rejected: []string{"1 row: no uid"}},
		"two rows with one uid: neither is right": {
			raw:      []map[string]*string{raw("id", "a", "on", "1"), raw("id", "b", "on", "1"), raw("id", "a", "on", "0")},
			want:     []string{"b"},
			rejected: []string{`uid "a": 2 rows have the same uid, and a tenant has one row`}},
		"nobody gets in another one's way by a uid that he chooses": {
			raw:  []map[string]*string{raw("id", "A", "on", "1"), raw("id", SafeUID("A"), "on", "1")},
			want: []string{"A", SafeUID("A")}},
		"a row without a column": {
			raw:      []map[string]*string{raw("id", "a", "on", "1"), raw("id", "b")},
			want:     []string{"a"},
			rejected: []string{`uid "b": there is no column "on"`}},
		"a row with a fault has its uid all the same": {
			raw:      []map[string]*string{raw("id", "a", "on", "1"), raw("id", "a")},
			want:     nil,
			rejected: []string{`uid "a": 2 rows have the same uid, and a tenant has one row`, `uid "a": there is no column "on"`}},
		"a very long uid is cut in the message": {
			raw:      []map[string]*string{raw("id", strings.Repeat("x", 200))},
			rejected: []string{fmt.Sprintf(`uid "%s…": there is no column "on"`, strings.Repeat("x", 80))}},
		"values that have no room in a tenant": {
			raw:      []map[string]*string{raw("id", "a", "on", "1"), raw("id", "b", "on", strings.Repeat("x", maxValues))},
			want:     []string{"a"},
			rejected: []string{fmt.Sprintf(`uid "b": its values have %d bytes together, and a tenant has room for %d`, len("b")+maxValues+len("{}"), maxValues)}},
		"several columns that are not there": {
			raw:      []map[string]*string{raw("other", "x")},
			rejected: []string{`1 row: there are no columns "id", "on"`}},
	} {
		t.Run(sentence, func(t *testing.T) {
			rows, rejected := Rows(c.raw, m, nil)
			var got []string
			for _, r := range rows {
				got = append(got, r.UID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.rejected, Told(rejected, 20), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("rejected (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLawsOfRows(t *testing.T) {
	m := tenantv1.ValueMappings{UID: "id", Activate: "on", HostOrURL: "url"}
	rapid.Check(t, func(t *rapid.T) {
		var all []map[string]*string
		for range rapid.IntRange(0, 12).Draw(t, "rows") {
			r := map[string]*string{}
			for _, column := range []string{"id", "on", "url"} {
				switch rapid.IntRange(0, 9).Draw(t, column) {
				case 0: // not there
				case 1:
					r[column] = nil
				default:
					r[column] = ptr.To(rapid.SampledFrom([]string{"", "a", "A", "b", "1", "a-1", SafeUID("A")}).Draw(t, column+" text"))
				}
			}
			all = append(all, r)
		}
		rows, rejected := Rows(all, m, map[string]string{"u": "url"})
		if len(rows)+len(rejected) != len(all) {
			t.Fatalf("%d rows and %d rejected of %d", len(rows), len(rejected), len(all))
		}
		seen := map[string]bool{}
		for _, r := range rows {
			if r.UID == "" || r.SafeUID == "" || seen[r.SafeUID] {
				t.Fatalf("%+v is not unique", r)
			}
			seen[r.SafeUID] = true
		}
		for _, r := range rejected {
			if r.Reason == "" {
				t.Fatalf("%+v is rejected without a reason", r)
			}
			if r.Named() && seen[r.SafeUID] {
				t.Fatalf("%q is a tenant and rejected", r.UID)
			}
		}
		again, no := Rows(all, m, map[string]string{"u": "url"})
		if diff := cmp.Diff(rows, again); diff != "" {
			t.Fatalf("the same rows are something else:\n%s", diff)
		}
		if diff := cmp.Diff(rejected, no); diff != "" {
			t.Fatalf("the same rows are rejected otherwise:\n%s", diff)
		}
	})
}

// A bad row in a busy table is reported once, not for each row before it.
func TestWhatIsToldOfRejectedRows(t *testing.T) {
	rejected := []Rejected{{UID: " ", Reason: "no uid"}, {UID: "b", SafeUID: "b", Reason: "x"}, {Reason: "no uid"}, {UID: "c", SafeUID: "c", Reason: "x"}, {Reason: "no uid"}}
	if diff := cmp.Diff([]string{"3 rows: no uid", `uid "b": x`}, Told(rejected, 2)); diff != "" {
		t.Error(diff)
	}
}
