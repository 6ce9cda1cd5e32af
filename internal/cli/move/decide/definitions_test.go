// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"
)

func TestDefinitionsOfApplications(t *testing.T) {
	for sentence, c := range map[string]struct {
		definition Definition
		verb       Verb
		why        string
	}{
		"the target lacks it":                   {Definition{Served: true}, VerbCreate, ""},
		"the target has it":                     {Definition{Served: true, Exists: true, Same: true}, VerbKeep, ""},
		"the target has another one":            {Definition{Served: true, Exists: true}, VerbConflict, "another definition of that name"},
		"another definition has the kind there": {Definition{Served: true, Rival: "pails"}, VerbConflict, "the definition pails has the kind Bucket"},
		"the target knows no definitions":       {Definition{}, VerbConflict, "yuba crds install"},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.definition.Name, c.definition.Kind = "bucket", "Bucket"
			plan := Decide(Facts{From: laptop, To: prod, Namespaces: []Namespace{{Name: "team", Exists: true}}, Definitions: []Definition{c.definition}})
			item := plan.Items[0]
			if item.Verb != c.verb || item.Kind != DefinitionKind || !strings.Contains(item.Why, c.why) || (item.Why == "") != (c.why == "") {
				t.Errorf("%+v", item)
			}
			if plan.Refused() != (c.verb == VerbConflict) {
				t.Errorf("refused: %v", plan.Refused())
			}
		})
	}
}
