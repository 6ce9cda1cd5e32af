// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statefile

import "testing"

func TestWhatIsTakenForAResourcesIdentifier(t *testing.T) {
	for sentence, test := range map[string]struct {
		attributes string
		sensitive  [][]string
		want       string
	}{
		"its id":                         {`{"id":"i-1"}`, nil, "i-1"},
		"its ARN rather than its id":     {`{"id":"i-1","arn":"arn:1"}`, nil, "arn:1"},
		"its id when its ARN is unknown": {`{"id":"i-1","arn":null}`, nil, "i-1"},
		"no id that is sensitive":        {`{"id":"i-1"}`, [][]string{{"password"}, {"id"}}, ""},
		"nothing of what is all secret":  {`{"id":"i-1"}`, [][]string{{}}, ""},
		"its id when only what is in another attribute is sensitive": {`{"id":"i-1"}`, [][]string{{"tags", "id"}}, "i-1"},
		"nothing where there is neither":                             {`{"name":"x"}`, nil, ""},
		"no id that is no text":                                      {`{"id":7}`, nil, ""},
		"nothing of what is no object":                               {``, nil, ""},
	} {
		r := Resource{Attributes: []byte(test.attributes), SensitivePaths: test.sensitive}
		if got := r.Identifier(); got != test.want {
			t.Errorf("%s: %q", sentence, got)
		}
	}
}
