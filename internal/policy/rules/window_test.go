// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/facts"
)

// judgeAt is what change-window says at a time about a plan of another time.
func judgeAt(t *testing.T, parameters, now, planned string) Result {
	t.Helper()
	check, err := Prepare("change-window", json.RawMessage(parameters))
	if err != nil {
		t.Fatal(err)
	}
	return check.Judge(&facts.Document{Stage: facts.StagePlan, Run: facts.Run{PlannedAt: instant(t, planned)}}, instant(t, now))
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestChangeWindow(t *testing.T) {
	const (
		office  = `{"timezone":"Europe/Berlin","windows":[{"days":["mon","tue","wed","thu"],"from":"09:00","to":"16:00"}]}`
		night   = `{"timezone":"Europe/Berlin","windows":[{"from":"22:00","to":"04:00"}]}`
		early   = `{"timezone":"Europe/Berlin","windows":[{"from":"02:00","to":"03:00"}]}`
		halves  = `{"timezone":"Europe/Berlin","windows":[{"from":"02:15","to":"02:45"}]}`
		allDay  = `{"windows":[{"from":"00:00","to":"24:00"}]}`
		frozen  = `{"timezone":"Europe/Berlin","windows":[{"from":"22:00","to":"04:00"}],"freezes":["2026-12-24/2026-12-26"]}`
		twice   = `{"windows":[{"from":"09:00","to":"12:00"},{"from":"11:00","to":"14:00"}]}`
		forever = `{"windows":[{"from":"00:00","to":"24:00"}],"freezes":["2020-01-01/2030-01-01"]}`
	)
	for sentence, c := range map[string]struct {
		parameters, now, planned string
		// until is the end of the open window, retry the begin of the next one.
		until, retry string
		unknown      bool
	}{
		"in the window":                               {office, "2026-05-04T10:00:00+02:00", "2026-05-04T09:00:00+02:00", "2026-05-04T16:00:00+02:00", "", false},
		"its first moment":                            {office, "2026-05-04T09:00:00+02:00", "", "2026-05-04T16:00:00+02:00", "", false},
		"its last moment has passed":                  {office, "2026-05-04T16:00:00+02:00", "", "", "2026-05-05T09:00:00+02:00", false},
		"before it":                                   {office, "2026-05-04T08:59:59+02:00", "", "", "2026-05-04T09:00:00+02:00", false},
		"after the last of the week":                  {office, "2026-05-08T10:00:00+02:00", "", "", "2026-05-11T09:00:00+02:00", false},
		"after midnight it is still yesterday's":      {night, "2026-05-05T01:00:00+02:00", "", "2026-05-05T04:00:00+02:00", "", false},
		"the clock is put forward in it":              {night, "2026-03-29T00:30:00+01:00", "", "2026-03-29T04:00:00+02:00", "", false},
		"the clock is put back in it":                 {night, "2026-10-25T00:30:00+02:00", "", "2026-10-25T04:00:00+01:00", "", false},
		"the hour after the clock was put back":       {early, "2026-10-25T02:30:00+01:00", "", "2026-10-25T03:00:00+01:00", "", false},
		"it has the hour that happens twice":          {early, "2026-10-25T02:30:00+02:00", "", "2026-10-25T03:00:00+01:00", "", false},
		"the whole day":                               {allDay, "2026-05-04T23:59:59Z", "", "2026-05-13T00:00:00Z", "", false},
		"a freeze ends the night's at midnight":       {frozen, "2026-12-23T23:00:00+01:00", "", "2026-12-24T00:00:00+01:00", "", false},
		"in a freeze":                                 {frozen, "2026-12-25T23:00:00+01:00", "", "", "2026-12-27T00:00:00+01:00", false},
		"the night's goes on after a freeze":          {frozen, "2026-12-27T01:00:00+01:00", "", "2026-12-27T04:00:00+01:00", "", false},
		"two that overlap":                            {twice, "2026-05-04T11:30:00Z", "", "2026-05-04T14:00:00Z", "", false},
		"frozen for years":                            {forever, "2026-05-04T11:30:00Z", "", "", "", false},
		"the clock jumped over the window":            {office, "2026-05-04T17:00:00+02:00", "2026-05-04T08:00:00+02:00", "", "2026-05-05T09:00:00+02:00", false},
		"the clock jumped back into it":               {office, "2026-05-04T10:00:00+02:00", "2026-05-04T17:00:00+02:00", "", "", true},
		"the clocks of two machines differ by little": {office, "2026-05-04T10:00:00+02:00", "2026-05-04T10:04:00+02:00", "2026-05-04T16:00:00+02:00", "", false},
		"nobody knows the time":                       {office, "", "", "", "", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := judgeAt(t, c.parameters, c.now, c.planned)
			if !r.ValidUntil.Equal(instant(t, c.until)) || !r.RetryAt.Equal(instant(t, c.retry)) {
				t.Errorf("until %s, retry %s; want %s, %s", r.ValidUntil, r.RetryAt, c.until, c.retry)
			}
			if open := len(r.Findings) == 0; open != (c.until != "") || !open && r.Findings[0].Unknown != c.unknown {
				t.Errorf("findings: %+v", r.Findings)
			}
		})
	}
	// The hour of the window does not happen on one day, and happens twice on another.
	for day, want := range map[string]int{"2026-03-29T00:00:00+01:00": 0, "2026-06-01T00:00:00+02:00": 30, "2026-10-25T00:00:00+02:00": 60} {
		open := 0
		for minute := range 24 * 60 {
			at := instant(t, day).Add(time.Duration(minute) * time.Minute)
			if len(judgeAt(t, halves, at.Format(time.RFC3339), "").Findings) == 0 {
				open++
			}
		}
		if open != want {
			t.Errorf("a window of 30 minutes was open for %d on the day of %s, want %d", open, day, want)
		}
	}
}

// Whatever the time, a result that says when it changes is right: nothing changes before.
func TestChangeWindowSaysWhenItChanges(t *testing.T) {
	const parameters = `{"timezone":"America/New_York","windows":[{"days":["sat","sun"],"from":"23:30","to":"02:30"},{"from":"01:15","to":"01:45"}],"freezes":["2026-11-03"]}`
	for _, day := range []string{"2026-03-07T00:00:00Z", "2026-10-31T00:00:00Z"} { // both change the clocks
		begin := instant(t, day)
		for minute := 0; minute < 4*24*60; minute += 7 {
			now := begin.Add(time.Duration(minute) * time.Minute)
			r := judgeAt(t, parameters, now.Format(time.RFC3339), "")
			change := r.ValidUntil
			if change.IsZero() {
				change = r.RetryAt
			}
			if !change.After(now) {
				t.Fatalf("at %s the next change is %s", now, change)
			}
			before := judgeAt(t, parameters, change.Add(-time.Second).Format(time.RFC3339), "")
			after := judgeAt(t, parameters, change.Format(time.RFC3339), "")
			if len(before.Findings) != len(r.Findings) || len(after.Findings) == len(r.Findings) {
				t.Fatalf("at %s it says that it changes at %s: %+v, %+v", now, change, before, after)
			}
		}
	}
}

func TestContractSafe(t *testing.T) {
	document := func(contracts ...facts.Contract) *facts.Document {
		return &facts.Document{Stage: facts.StagePlan, Plan: &facts.Plan{}, Contracts: contracts}
	}
	breaks := facts.Contract{Name: "base", Version: "1.2.0", Verdict: facts.ContractBreaks, Message: "vpc_id is missing",
		Breaks: []facts.BrokenConsumer{{Namespace: "a", Name: "cluster", Path: "vpc_id"}, {Namespace: "b", Name: "app"}}}
	alone := facts.Contract{Name: "base", Version: "1.2.0", Verdict: facts.ContractBreaks, Message: "vpc_id is missing"}
	fits, later := facts.Contract{Name: "x", Version: "1.0.0", Verdict: facts.ContractFits}, facts.Contract{Name: "y", Version: "2.0.0", Verdict: facts.ContractUnknown}
	for sentence, c := range map[string]struct {
		rule string
		d    *facts.Document
		want string
	}{
		"publishes nothing":                   {"contract-safe", document(), ""},
		"fits":                                {"contract-safe", document(fits), ""},
		"breaks two consumers":                {"contract-safe", document(fits, breaks), "contract base@1.2.0 contract base@1.2.0"},
		"breaks, and nobody consumes":         {"contract-safe", document(alone), "contract base@1.2.0"},
		"not known":                           {"contract-safe", document(later), "?contract y@2.0.0"},
		"not known, and that is allowed":      {`contract-safe {"unknown":"allow"}`, document(later), ""},
		"breaks, and the unknown are allowed": {`contract-safe {"unknown":"allow"}`, document(later, alone), "contract base@1.2.0"},
		"a verdict of another version":        {`contract-safe {"unknown":"allow"}`, document(facts.Contract{Name: "z", Version: "1.0.0", Verdict: "bends"}), "?contract z@1.0.0"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := found(t, c.rule, c.d, monday); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
	check, err := Prepare("contract-safe", nil)
	if err != nil {
		t.Fatal(err)
	}
	if m := check.Judge(document(breaks), monday).Findings[0].Message; m != "would break a/cluster, which reads vpc_id: vpc_id is missing" {
		t.Errorf("the message is %q", m)
	}
}
