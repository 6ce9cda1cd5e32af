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
		"nobody":                                       {nil, "", ""},
		"the only one":                                 {[]Contender{{Key: "a/x", Created: old}}, "a/x", ""},
		"the older of two that are new":                {[]Contender{{Key: "a/x", Created: young}, {Key: "b/x", Created: young.Add(-time.Second)}}, "b/x", "it was first, and may begin until 2026-11-28T12:58:59Z"},
		"the younger, if the older never began":        {[]Contender{{Key: "a/x", Created: old, Had: true}, {Key: "b/x", Created: young}}, "b/x", "may begin until 2026-11-28T12:59:00Z"},
		"the older, if neither began in time":          {[]Contender{{Key: "a/x", Created: late}, {Key: "b/x", Created: old}}, "b/x", "neither has made anything. If the name is yours, prove it"},
		"of these, the one that had it":                {[]Contender{{Key: "a/x", Created: late, Had: true}, {Key: "b/x", Created: old}}, "a/x", "neither has made anything"},
		"not one that only looks begun":                {[]Contender{{Key: "a/x", Created: young.Add(-time.Second), Had: true}, {Key: "b/x", Created: young, Begun: true}}, "a/x", "it was first"},
		"nor an older one that does":                   {[]Contender{{Key: "a/x", Created: old, Begun: true}, {Key: "b/x", Created: young, Had: true}}, "b/x", "it was first"},
		"one that waited has an hour from its turn":    {[]Contender{{Key: "a/x", Created: old, Had: true, Since: young}, {Key: "b/x", Created: young}}, "a/x", "may begin until 2026-11-28T12:59:00Z"},
		"a claim is a proof before it begins":          {[]Contender{{Key: "a/x", Created: young, Had: true, Since: young}, {Key: "b/x", Created: young, Claimed: true, Proof: old}}, "b/x", "a SubdomainClaim of its namespace has the name. Choose another name, or release that claim"},
		"but not of a pool that was made for it":       {[]Contender{{Key: "a/x", Created: late, Had: true, Since: young}, {Key: "b/x", Created: young, Claimed: true, Proof: young.Add(time.Second)}}, "a/x", "of a pool that is older than this reservation"},
		"unless the reservation is over":               {[]Contender{{Key: "a/x", Created: old, Had: true, Since: old}, {Key: "b/x", Created: young, Claimed: true, Proof: young}}, "b/x", "a SubdomainClaim"},
		"a claim of the namespace of both":             {[]Contender{{Key: "a/x", Created: old, Claimed: true}, {Key: "a/y", Created: young, Claimed: true, Begun: true}}, "a/y", ""},
		"one that is gone holds nothing":               {[]Contender{{Key: "a/x", Created: old, Begun: true, Had: true, Claimed: true, Gone: true}, {Key: "b/x", Created: young}}, "b/x", ""},
		"one that keeps it, against all proofs":        {[]Contender{{Key: "b/x", Created: old, Begun: true, Claimed: true}, {Key: "a/x", Created: young, Begun: true, Had: true, Since: young}}, "a/x", "it has begun with that name, which it has since 2026-11-28T11:59:00Z, and keeps it. Choose another name, or decommission"},
		"in one second, the one that had it":           {[]Contender{{Key: "a/x", Created: young}, {Key: "b/x", Created: young, Had: true}}, "b/x", ""},
		"of two that begun, the one that had it first": {[]Contender{{Key: "a/x", Created: old, Begun: true, Had: true, Since: young}, {Key: "b/x", Created: late, Begun: true, Had: true, Since: late}}, "b/x", "since 2026-11-28T10:00:00Z"},
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

// A platform that had the name first keeps it from others that look begun, however old they are: for an hour, and for ever if
// it has begun itself.
func TestAPlatformKeepsItsName(t *testing.T) {
	for _, begun := range []bool{true, false} {
		mine := Contender{Key: "b/x", Created: noon, Begun: begun, Had: true, Since: noon}
		times := []time.Duration{0, time.Minute, Hold - time.Second}
		if begun {
			times = append(times, Hold, 100*Hold)
		}
		for _, after := range times {
			for _, created := range []time.Duration{-100 * Hold, -time.Second, 0, time.Second, 100 * Hold} {
				for looks := range 4 {
					other := Contender{Key: "a/x", Created: noon.Add(created), Claimed: looks&1 != 0, Proof: noon.Add(time.Second), Begun: looks&2 != 0}
					if h := HolderOf(noon.Add(after), []Contender{other, mine}); h.Holder != mine.Key {
						t.Errorf("begun %v, after %v, one that was created %v later has it: %+v", begun, after, created, other)
					}
				}
			}
		}
	}
}
