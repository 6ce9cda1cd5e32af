// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package speculative_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/speculative"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

func value(t *testing.T, text string) (v plan.Value) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// The same change at two positions is the same line.
func TestChangesInWords(t *testing.T) {
	p := &plan.Plan{Changes: []plan.ResourceChange{
		{Address: `module.vpc["a.b"].module.inner.aws_subnet.this["x]"]`, Action: plan.Create},
		{Address: `module.vpc["c"].module.inner.aws_subnet.this[3]`, Action: plan.Create},
		{Address: `module.other.data.aws_ami.it`, Action: plan.Read}, {Address: "aws_vpc.it", Action: plan.Replace},
		{Address: "aws_vpc.to", Previous: "aws_vpc.from", Action: plan.NoOp},
		{Address: `aws_route.it["50%"]`, Action: plan.Update, Before: value(t, `{"to": "a", "id": "1", "name": "n"}`),
			After: value(t, `{"to": "b", "id": {"$unknown": true}, "name": "n"}`)},
		{Address: `aws_route.it["%d"]`, Action: plan.Update, Before: value(t, `{"to": "c"}`), After: value(t, `{"to": "d"}`)},
	}, Outputs: []plan.OutputValueChange{{Name: "id", Action: plan.Update}}, Omitted: 2}
	want := "+2 aws_subnet.this|-/+1 aws_vpc.it|moved 1 aws_vpc.to|read 1 data.aws_ami.it|~2 aws_route.it (to)|~ output id|and 2 more"
	if got := strings.Join(speculative.Words(p), "|"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
