// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhatIsTakenForAResourcesIdentifier(t *testing.T) {
	for sentence, test := range map[string]struct{ resource, want string }{
		"its id":                         {`{"values":{"id":"i-1"}}`, "i-1"},
		"its ARN rather than its id":     {`{"values":{"id":"i-1","arn":"arn:1"}}`, "arn:1"},
		"no id that is sensitive":        {`{"values":{"id":"i-1"},"sensitive_values":{"id":true}}`, ""},
		"nothing of what is all secret":  {`{"values":{"id":"i-1"},"sensitive_values":true}`, ""},
		"nothing where there is neither": {`{"values":{"name":"x"}}`, ""},
		"no id that is no text":          {`{"values":{"id":7}}`, ""},
	} {
		list, err := readResources([]byte(`{"values":{"root_module":{"resources":[{"mode":"managed",` + test.resource[1:] + `]}}}`))
		if err != nil || len(list) != 1 || list[0].ID != test.want {
			t.Errorf("%s: %+v, %v", sentence, list, err)
		}
	}
}

// A truncated list would make the missing resources look deleted.
func TestAStateWithMoreResourcesThanAResultNamesIsNotListed(t *testing.T) {
	shown := func(n int) []byte {
		var resources []string
		for i := range n {
			resources = append(resources, fmt.Sprintf(`{"address":"a.b[%d]","mode":"managed"}`, i))
		}
		return []byte(`{"values":{"root_module":{"child_modules":[{"resources":[` + strings.Join(resources, ",") + `]}]}}}`)
	}
	if list, err := shownAddresses(shown(maxResources)); err != nil || len(list) != maxResources {
		t.Errorf("%d: %v", len(list), err)
	}
	if list, err := shownAddresses(shown(maxResources + 1)); err == nil {
		t.Errorf("%d are listed as if they were all", len(list))
	}
}
