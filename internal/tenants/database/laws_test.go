// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// texts are values that engines may convert or treat as equal.
var texts = []string{"", " ", "pro", "Pro", "PRO", "pro ", "prö", "0", "00", "1", "1.0", "1e0", "NULL", "true", `\x00`, "'", `"`, "`", "%", "_", "a\nb", "😀"}

// Databases and documents agree on which rows meet a condition.
func TestConditionsMeanTheSameEverywhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tenants.db")
	db := writer(t, path, "PRAGMA synchronous = OFF", "CREATE TABLE tenants(id TEXT, plan TEXT COLLATE NOCASE, zone TEXT)")
	table := file(t, path, "tenants")
	rapid.Check(t, func(t *rapid.T) {
		if _, err := db.Exec("DELETE FROM tenants"); err != nil {
			t.Fatal(err)
		}
		cell := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.SampledFrom(texts), func(text string) any { return text }))
		document := []map[string]any{}
		for n := range rapid.IntRange(0, 12).Draw(t, "rows") {
			id, plan, zone := fmt.Sprintf("%02d", n), cell.Draw(t, "plan"), cell.Draw(t, "zone")
			document = append(document, map[string]any{"id": id, "plan": plan, "zone": zone})
			if _, err := db.Exec("INSERT INTO tenants VALUES (?, ?, ?)", id, plan, zone); err != nil {
				t.Fatal(err)
			}
		}
		query := Query{Columns: []string{"id", "plan"}, Where: rapid.SliceOfN(conditions(), 0, 3).Draw(t, "where")}
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		want, err := (&configMap{
			spec: tenantv1.ConfigMapSource{Name: "tenants", Key: "k.json"}, secrets: things{configMaps: map[string]map[string]string{"tenants": {"k.json": string(text)}}},
		}).Read(context.Background(), query)
		if err != nil {
			t.Fatal(err)
		}
		got, err := table.Read(context.Background(), query)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain(want), plain(got)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A row meets a condition or its opposite.
func TestEachRowMeetsAConditionOrItsContrary(t *testing.T) {
	contrary := map[string]string{in: notIn, notIn: in, exists: doesNotExist, doesNotExist: exists}
	rapid.Check(t, func(t *rapid.T) {
		one := conditions().Draw(t, "condition")
		value := sql.NullString{String: rapid.SampledFrom(texts).Draw(t, "value"), Valid: rapid.Bool().Draw(t, "there")}
		other := one
		other.Operator = contrary[one.Operator]
		if holds(one, value) == holds(other, value) {
			t.Fatalf("%+v and %+v say the same about %+v", one, other, value)
		}
	})
}

func conditions() *rapid.Generator[tenantv1.RowCondition] {
	return rapid.Custom(func(t *rapid.T) tenantv1.RowCondition {
		c := tenantv1.RowCondition{
			Column:   rapid.SampledFrom([]string{"plan", "zone"}).Draw(t, "column"),
			Operator: rapid.SampledFrom([]string{in, notIn, exists, doesNotExist}).Draw(t, "operator"),
		}
		if c.Operator == in || c.Operator == notIn {
			c.Values = rapid.SliceOfN(rapid.SampledFrom(texts), 1, 4).Draw(t, "values")
		}
		return c
	})
}
