// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"
	"time"
)

func TestWhoHasAName(t *testing.T) {
	old, late, young := noon.Add(-3*time.Hour), noon.Add(-2*time.Hour), noon.Add(-time.Minute)
	for sentence, c := range map[string]struct {
		all    []Contender
		holder string
		says   string
	}{
		"nobody":                                {nil, "", ""},
		"the only one":                          {[]Contender{{Key: "a/x", Created: old}}, "a/x", ""},
		"the older of two that are new":         {[]Contender{{Key: "a/x", Created: young}, {Key: "b/x", Created: young.Add(-time.Second)}}, "b/x", "may begin until 2026-11-28T12:58:59Z"},
		"the younger, if the older never began": {[]Contender{{Key: "a/x", Created: old}, {Key: "b/x", Created: young}}, "b/x", "may begin until 2026-11-28T12:59:00Z"},
		"the older, if neither began in time":   {[]Contender{{Key: "a/x", Created: late}, {Key: "b/x", Created: old}}, "b/x", "neither has made anything. If the name is yours, prove it"},
		"one that has begun":                    {[]Contender{{Key: "a/x", Created: young.Add(-time.Second)}, {Key: "b/x", Created: young, Begun: true}}, "b/x", "it has begun"},
		"the older of two that have begun":      {[]Contender{{Key: "a/x", Created: old, Begun: true}, {Key: "b/x", Created: young, Begun: true}}, "a/x", "decommission that platform"},
		"records are a proof":                   {[]Contender{{Key: "a/x", Created: old, Begun: true}, {Key: "b/x", Created: young, Begun: true, Resolves: true}}, "b/x", "the name leads to it"},
		"a claim is a proof before it begins":   {[]Contender{{Key: "a/x", Created: old, Begun: true}, {Key: "b/x", Created: young, Claimed: true}}, "b/x", "a SubdomainClaim of its namespace"},
		"a claim is more than records":          {[]Contender{{Key: "a/x", Created: old, Begun: true, Resolves: true}, {Key: "b/x", Created: young, Claimed: true}}, "b/x", "release that claim"},
		"a claim of the namespace of both":      {[]Contender{{Key: "a/x", Created: old, Claimed: true}, {Key: "a/y", Created: young, Claimed: true, Begun: true}}, "a/y", ""},
		"one that is gone holds nothing":        {[]Contender{{Key: "a/x", Created: old, Begun: true, Resolves: true, Claimed: true, Gone: true}, {Key: "b/x", Created: young}}, "b/x", ""},
		"one that keeps it, against all proofs": {[]Contender{{Key: "b/x", Created: old, Begun: true, Resolves: true, Claimed: true}, {Key: "a/x", Created: young, Begun: true, Had: true}}, "a/x", "it has begun with that name, and keeps it. Choose another name, or decommission"},
		"one that had it and never began":       {[]Contender{{Key: "a/x", Created: young, Had: true}, {Key: "b/x", Created: young, Claimed: true}}, "b/x", "a SubdomainClaim of its namespace"},
		"in one second, the one that had it":    {[]Contender{{Key: "a/x", Created: young}, {Key: "b/x", Created: young, Had: true}}, "b/x", ""},
	} {
		h := HolderOf(noon, c.all)
		if text := h.Refusal("It"); h.Holder != c.holder || !strings.Contains(text, c.says) {
			t.Errorf("%s: %s: %s", sentence, h.Holder, text)
		}
		if waits := strings.Contains(h.Because, "may begin until"); waits == h.Until.IsZero() {
			t.Errorf("%s: decided anew at %v", sentence, h.Until)
		}
	}
}

// Whoever has begun with a name keeps it against all others, whatever they prove and whatever time passes.
func TestAPlatformKeepsItsName(t *testing.T) {
	mine := Contender{Key: "a/x", Created: noon, Begun: true, Had: true}
	for _, after := range []time.Duration{0, time.Minute, Hold, 100 * Hold} {
		for _, created := range []time.Duration{-100 * Hold, -time.Second, 0, time.Second, 100 * Hold} {
			for proofs := range 8 {
				other := Contender{Key: "b/x", Created: noon.Add(created), Claimed: proofs&1 != 0, Resolves: proofs&2 != 0, Begun: proofs&4 != 0}
				if h := HolderOf(noon.Add(after), []Contender{other, mine}); h.Holder != mine.Key {
					t.Errorf("after %v, one that was created %v later has it: %+v", after, created, other)
				}
			}
		}
	}
}
