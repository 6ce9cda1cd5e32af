// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/database"
)

// tricky are values that engines like to convert; nil is NULL.
var tricky = []any{
	nil, "", " ", "pro", "Pro", "PRO", "pro ", "prö", "PRÖ", "ss", "ß", "0", "00", "1", "1.0", "1e0", "NULL", "true", `\x00`, `\`, "'", `"`, "`", "%", "_", "a\nb", "😀",
}

// document is a ConfigMap with the same rows.
type document string

func (document) Secret(_ context.Context, name string) (map[string][]byte, error) {
	return nil, fmt.Errorf("read Secret %s: it is not there", name)
}

func (d document) ConfigMap(context.Context, string) (map[string]string, error) {
	return map[string]string{"rows.json": string(d)}, nil
}

// Conditions have the same meaning as for a document, with every collation, protocol and mode of a
// server.
func TestConditionsMeanTheSameOnServers(t *testing.T) {
	each(t, func(t *testing.T, s server) {
		s.table(t, "tricky", "id VARCHAR(20), plan VARCHAR(20)")
		insert := "INSERT INTO tricky VALUES (?, ?)"
		if s.kind == tenantv1.SourcePostgres {
			insert = "INSERT INTO tricky VALUES ($1, $2)"
		}
		var same []map[string]any
		for n, plan := range tricky {
			id := fmt.Sprintf("%02d", n)
			same = append(same, map[string]any{"id": id, "plan": plan})
			if _, err := s.DB.Exec(insert, id, plan); err != nil {
				t.Fatal(err)
			}
		}
		text, err := json.Marshal(same)
		if err != nil {
			t.Fatal(err)
		}
		expected, err := database.Open(context.Background(), tenantv1.DataSource{
			Type: tenantv1.SourceConfigMap, ConfigMap: &tenantv1.ConfigMapSource{Name: "tenants", Key: "rows.json"},
		}, document(text), database.Options{})
		if err != nil {
			t.Fatal(err)
		}
		source := s.open(t, "tricky", place{})
		rapid.Check(t, func(t *rapid.T) {
			query := database.Query{Columns: []string{"id", "plan"}}
			for range rapid.IntRange(0, 3).Draw(t, "conditions") {
				c := tenantv1.RowCondition{Column: "plan", Operator: rapid.SampledFrom([]string{"In", "NotIn", "Exists", "DoesNotExist"}).Draw(t, "operator")}
				if c.Operator == "In" || c.Operator == "NotIn" {
					for _, value := range rapid.SliceOfN(rapid.SampledFrom(tricky[1:]), 1, 5).Draw(t, "values") {
						c.Values = append(c.Values, value.(string))
					}
				}
				query.Where = append(query.Where, c)
			}
			want, err := expected.Read(context.Background(), query)
			if err != nil {
				t.Fatal(err)
			}
			got, err := source.Read(context.Background(), query)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain(want), plain(got)); diff != "" {
				t.Fatal(diff)
			}
		})
	})
}
