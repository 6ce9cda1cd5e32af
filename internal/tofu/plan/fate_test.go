// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shownChangeOf is a line of resource_changes.
func shownChangeOf(address string, actions []string, more string) string {
	list, err := json.Marshal(actions)
	if err != nil {
		panic(err) // strings always encode
	}
	return fmt.Sprintf(`{"address":%q,"mode":"managed","type":"x_y","name":"z","change":{"actions":%s%s}}`, address, list, more)
}

func TestObjectsOfAPlan(t *testing.T) {
	show := `{"format_version":"1.2","resource_changes":[` + strings.Join([]string{
		shownChangeOf("x_y.made", []string{"create"}, `,"after":{"name":"web","arn":null,"tags":{"Name":"front"}},"after_unknown":{"id":true}`),
		shownChangeOf("x_y.kept", []string{"no-op"}, `,"before":{"id":"1"}`),
		shownChangeOf("x_y.changed", []string{"update"}, `,"before":{"id":"1"}`),
		shownChangeOf("x_y.exchanged", []string{"create", "delete"}, `,"before":{"id":"old","name":"n"},"after":{"name":"other"}`),
		shownChangeOf("x_y.ended", []string{"delete"}, `,"before":{"id":"gone","metadata":[{"name":"m","namespace":"ns"}]}`),
		shownChangeOf("x_y.forgotten", []string{"forget"}, `,"before":{"id":"f"}`),
		shownChangeOf("x_y.secret", []string{"create"}, `,"after":{"name":"hunter2","bucket":"with-hunter2-in-it","path":"/p"},"after_sensitive":{"name":true}`),
		`{"address":"data.x_y.read","mode":"data","type":"x_y","name":"z","change":{"actions":["read"]}}`,
		`{"address":"x_y.left","deposed":"01","mode":"managed","type":"x_y","name":"z","change":{"actions":["delete"]}}`,
	}, ",") + `]}`
	described, err := Describe([]byte(show))
	if err != nil {
		t.Fatal(err)
	}
	want := []Fate{
		{Address: "x_y.made", Action: Create, Identity: `name "web", tags.Name "front"`},
		{Address: "x_y.exchanged", Action: Replace, Identity: `id "old", name "n"`},
		{Address: "x_y.ended", Action: Delete, Identity: `id "gone", metadata.0.namespace "ns", metadata.0.name "m"`},
		{Address: "x_y.secret", Action: Create, Identity: `path "/p"`},
	}
	if diff := cmp.Diff(want, described.Fates); diff != "" || described.FatesTotal != len(want) {
		t.Errorf("%d in all (-want +got):\n%s", described.FatesTotal, diff)
	}
}

func TestObjectsOfAStream(t *testing.T) {
	var s Stream
	for i := range maxChanges + 5 {
		s.Add(Event{Type: PlannedChange, Resource: fmt.Sprintf("a.b[%d]", i), Action: Create})
	}
	list, total := s.Fates()
	if len(list) != maxChanges || total != maxChanges+5 {
		t.Errorf("%d named of %d", len(list), total)
	}
	s = Stream{}
	for _, e := range []Event{
		{Type: PlannedChange, Resource: "a.u", Action: Update}, {Type: PlannedChange, Resource: "a.d", Action: Delete},
		{Type: PlannedChange, Resource: "a.(sensitive)", Match: Match("a.b"), Action: Replace}, {Type: PlannedChange, Resource: "data.a.r", Action: Read},
	} {
		s.Add(e)
	}
	list, total = s.Fates()
	want := []Fate{{Address: "a.d", Action: Delete}, {Address: "a.(sensitive)", Match: Match("a.b"), Action: Replace}}
	if diff := cmp.Diff(want, list); diff != "" || total != 2 {
		t.Errorf("%d in all (-want +got):\n%s", total, diff)
	}
}

func TestIdentityInAState(t *testing.T) {
	for sentence, test := range map[string]struct {
		attributes string
		sensitive  [][]string
		want       string
	}{
		"what is known of it":         {`{"id":"i-1","name":"web","size":3}`, nil, `id "i-1", name "web"`},
		"but nothing sensitive":       {`{"id":"i-1","name":"web"}`, [][]string{{"name"}}, `id "i-1"`},
		"not below it either":         {`{"id":"i-1","metadata":[{"name":"m"}]}`, [][]string{{"metadata"}}, `id "i-1"`},
		"nor in a list":               {`{"id":"i-1","metadata":[{"name":"m","namespace":"n"}]}`, [][]string{{"metadata", "0", "name"}}, `id "i-1", metadata.0.namespace "n"`},
		"nothing of what is all such": {`{"id":"i-1"}`, [][]string{{}}, ""},
		"no object":                   {`[]`, nil, ""},
		"no JSON":                     {`{`, nil, ""},
		"cut where it is long":        {`{"id":"` + strings.Repeat("ä", 200) + `"}`, nil, `id "` + strings.Repeat("ä", 100) + `…"`},
	} {
		if got := IdentityOf([]byte(test.attributes), test.sensitive); got != test.want {
			t.Errorf("%s: %s, want %s", sentence, got, test.want)
		}
	}
}
