// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "testing"

func TestPatternsOfAddressesDoNotMatchInKeys(t *testing.T) {
	for _, c := range []struct {
		pattern, address string
		want             bool
	}{
		{"aws_db.main", "aws_db.main", true},
		{"*legacy*", "module.legacy.aws_db.main", true},
		{"module.legacy*", `module.legacy["a"].aws_db.main["b"]`, true},
		{"*legacy*", `aws_db.main["legacy"]`, false},
		{"*legacy*", `module.m["x.legacy"].aws_db.main[0]`, false},
		{"*.aws_db.main", `aws_vpc.v[".aws_db.main"]`, false},
		{`aws_db.main["legacy"]`, `aws_db.main["legacy"]`, true},
		{`aws_db.main["legacy-*"]`, `aws_db.main["legacy-1"]`, true},
		{`aws_db.main[*]`, `aws_db.main["legacy"]`, true},
		{`aws_db.main[*`, `aws_db.main["legacy"]`, false},
		{`aws_db.main*`, `aws_db.main["legacy"]`, true},
		{`*legacy[*]`, `aws_db.main["legacy[0]"]`, false},
		{`*["legacy"]`, `aws_db.main["x[\"legacy\"]"]`, false},
		{`aws_db.main[0]`, `aws_db.main[0]`, true},
		{`aws_db.main[0]`, `aws_db.main["0"]`, false},
		{"*", `aws_db.main["legacy"]`, true},
		{"*x*", `aws_db.main["x`, true}, // not an address
	} {
		if got := MatchesAddress(c.pattern, c.address); got != c.want {
			t.Errorf("%s matches %s: %t", c.pattern, c.address, got)
		}
	}
}
