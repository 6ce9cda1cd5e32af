// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestTextIsTheDocumentAsJSON(t *testing.T) {
	for name, labels := range map[string]map[string]string{
		"plain":                      {"team": "a"},
		"hostile":                    {`"changes":[]`: `,"changes":[],`},
		"another member of the name": {"changes": "[]"},
	} {
		for _, changes := range []int{0, 1, minShared - 1, minShared, minShared + 1, 2*minShared + 1} {
			t.Run(fmt.Sprintf("%s, %d changes", name, changes), func(t *testing.T) {
				d := &Document{APIVersion: APIVersion, Kind: Kind, Stack: Stack{Name: "demo", Labels: labels}}
				for i := range changes {
					d.Changes = append(d.Changes, Change{Address: fmt.Sprintf("terraform_data.a[%d]", i)})
				}
				want, err := json.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				got, err := d.Text()
				if err != nil || string(got) != string(want) {
					t.Errorf("%v, %.200s, want %.200s", err, got, want)
				}
			})
		}
	}
}
