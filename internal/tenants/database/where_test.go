// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"database/sql"
	"strings"
	"testing"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

func TestWhatConditionsHoldFor(t *testing.T) {
	one, two, empty, nothing := value("pro"), value("Pro"), value(""), sql.NullString{}
	for sentence, test := range map[string]struct {
		condition tenantv1.RowCondition
		value     sql.NullString
		want      bool
	}{
		"one of the values":                    {condition(in, "free", "pro"), one, true},
		"values are compared letter by letter": {condition(in, "pro"), two, false},
		"no space more":                        {condition(in, "pro "), one, false},
		"NULL is in nothing":                   {condition(in, ""), nothing, false},
		"an empty text is a value":             {condition(in, ""), empty, true},
		"none of the values":                   {condition(notIn, "free"), one, true},
		"not one of the values":                {condition(notIn, "pro"), one, false},
		"NULL is none of the values":           {condition(notIn, "pro"), nothing, true},
		"a value is there":                     {condition(exists), one, true},
		"an empty text is there":               {condition(exists), empty, true},
		"NULL is not there":                    {condition(exists), nothing, false},
		"NULL is what is missing":              {condition(doesNotExist), nothing, true},
		"a value is not missing":               {condition(doesNotExist), one, false},
		"bytes are compared as they are shown": {condition(in, `\xff00`), value("\xff\x00"), true},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := holds(test.condition, test.value); got != test.want {
				t.Errorf("%+v holds for %+v: %v", test.condition, test.value, got)
			}
		})
	}
}

func TestWhatIsWrongWithConditions(t *testing.T) {
	for sentence, test := range map[string]struct {
		condition tenantv1.RowCondition
		want      string
	}{
		"fine":                    {condition(in, "a"), ""},
		"fine without values":     {condition(exists), ""},
		"no values":               {condition(in), "has no values"},
		"no values to leave out":  {condition(notIn), "has no values"},
		"values for nothing":      {condition(exists, "a"), "does not use"},
		"an operator of its own":  {condition("Like", "a%"), `the operator "Like"`},
		"no column":               {tenantv1.RowCondition{Operator: exists}, "does not name a column"},
		"a column that cannot be": {tenantv1.RowCondition{Column: "a\x00", Operator: exists}, "does not name a column"},
		"a value that cannot be":  {condition(in, "a\x00"), "NUL"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := wrong(test.condition)
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("%+v: %q, want %q", test.condition, got, test.want)
			}
		})
	}
}

func condition(operator string, values ...string) tenantv1.RowCondition {
	return tenantv1.RowCondition{Column: "plan", Operator: operator, Values: values}
}

func value(text string) sql.NullString { return sql.NullString{String: text, Valid: true} }
