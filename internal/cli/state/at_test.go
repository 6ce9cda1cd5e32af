// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

func TestTimesThatPeopleWrite(t *testing.T) {
	zone := time.FixedZone("there", 2*60*60)
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"0s": now, "90m": now.Add(-90 * time.Minute), "3d": now.Add(-72 * time.Hour), "1.5d": now.Add(-36 * time.Hour),
		"2026-01-30T15:04:05Z": time.Date(2026, 1, 30, 15, 4, 5, 0, time.UTC), "2026-01-30T15:04:05.25+01:00": time.Date(2026, 1, 30, 14, 4, 5, 250_000_000, time.UTC),
		"2026-01-30 15:04": time.Date(2026, 1, 30, 15, 4, 0, 0, zone), "2026-01-30 15:04:05": time.Date(2026, 1, 30, 15, 4, 5, 0, zone), "2026-01-30": time.Date(2026, 1, 30, 0, 0, 0, 0, zone),
	} {
		if got, err := parseTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "-1h", "d", "2026-13-01", "15"} {
		if got, err := parseTime(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestDifferencesOfStates(t *testing.T) {
	r := func(address, attributes string) statefile.Resource {
		return statefile.Resource{Address: address, Attributes: []byte(attributes)}
	}
	var d differences
	d.compare(&statefile.File{Resources: []statefile.Resource{r("x.same", `{"a":1}`), r("x.gone", "{}"), r("x.other", `{"a":1,"b":2,"c":3}`)}},
		&statefile.File{Resources: []statefile.Resource{r("x.new", "{}"), r("x.same", `{"a":1}`), r("x.other", `{"a":1,"b":3,"d":4}`)}})
	want := differences{Added: []string{"x.new"}, Removed: []string{"x.gone"}, Changed: []changes{{"x.other", []string{"b", "c", "d"}}}}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("got %+v, want %+v", d, want)
	}
}

// TestAnUnknownStateIsNotEmpty: otherwise all resources of an adopted stack, or of one with pruned
// versions, would look as if they had been added.
func TestAnUnknownStateIsNotEmpty(t *testing.T) {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	version := func(after time.Duration, serial uint64) state.Version {
		return state.Version{ID: "v", Time: at.Add(after), Serial: serial}
	}
	for what, c := range map[string]struct {
		list    content.VersionList
		found   bool
		problem string
		empty   bool
	}{
		"a version of that time":            {content.VersionList{Items: []state.Version{version(time.Hour, 9), version(0, 8)}}, true, "", false},
		"no state was ever written":         {content.VersionList{}, false, "", true},
		"before the very first state":       {content.VersionList{Items: []state.Version{version(2*time.Hour, 2), version(time.Hour, 1)}}, false, "", true},
		"older versions were pruned":        {content.VersionList{Items: []state.Version{version(2*time.Hour, 9), version(time.Hour, 8)}}, false, "oldest stored version", false},
		"older versions were not listed":    {content.VersionList{Items: []state.Version{version(time.Hour, 8)}, Truncated: true}, false, "lists only its newest 1 versions", false},
		"nor are those with a first serial": {content.VersionList{Items: []state.Version{version(time.Hour, 1)}, Truncated: true}, false, "lists only", false},
	} {
		one := then{}
		one.find(&c.list, at)
		file, problem := one.compared()
		if (one.Version != nil) != c.found || !strings.Contains(problem, c.problem) || (problem == "") != (c.problem == "") || (file != nil) != c.empty {
			t.Errorf("%s: version %+v, state %+v, problem %q", what, one.Version, file, problem)
		}
	}
}
