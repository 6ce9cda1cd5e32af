// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the time zones of the parameters, on machines that have none

	"github.com/yuba-dev/yuba/internal/policy/facts"
)

// window is a window of each week.
type window struct {
	Days []string `json:"days"`
	From string   `json:"from"`
	To   string   `json:"to"`
}

// calendar says when changes are allowed.
type calendar struct {
	zone    *time.Location
	windows []span
	freezes [][2]time.Time
}

// span is a window: the minutes of its begin and end, counted from the begin of each of its days.
type span struct {
	days     [7]bool
	from, to int
}

// maxSkew is how far clocks of two machines may differ.
const maxSkew = 5 * time.Minute

var changeWindow = Rule{
	Name:    "change-window",
	Summary: "The plan is applied in a window of time.",
	Details: "The rule is evaluated again when the window ends, so a plan that waits for a person is not applied after it; a plan that is too early is judged again when the next window begins. " +
		"Windows are wall-clock times of the time zone, on days when clocks change, too; one that ends before it begins ends on the next day. " +
		"If the clock is before the time at which the plan was made, the clock was changed, and nobody knows the time: that is a finding.",
	Parameters: []Parameter{
		{Name: "windows", Type: TypeList, Required: true, Meaning: "The windows: `from` and `to` as HH:MM (`to` may be 24:00), and `days` (mon, tue, wed, thu, fri, sat, sun), by default all."},
		{Name: "timezone", Type: TypeText, Default: "UTC", Meaning: "The time zone, such as `Europe/Berlin`."},
		{Name: "freezes", Type: TypeTexts, Default: "none", Meaning: "Days without windows: `2026-12-24`, or from one day to another: `2026-12-24/2027-01-02`."},
	},
	Example: "timezone: Europe/Berlin\nwindows: [{days: [mon, tue, wed, thu], from: \"09:00\", to: \"16:00\"}]\nfreezes: [2026-12-21/2027-01-03]",
	Stages:  afterPlan,
	prepare: func(raw json.RawMessage) (check, error) {
		p := struct {
			Windows  []window `json:"windows"`
			Timezone string   `json:"timezone"`
			Freezes  []string `json:"freezes"`
		}{Timezone: "UTC"}
		if err := strict(raw, &p); err != nil {
			return nil, err
		}
		c, err := newCalendar(p.Windows, p.Timezone, p.Freezes)
		if err != nil {
			return nil, err
		}
		return c.judge, nil
	},
}

func newCalendar(windows []window, zone string, freezes []string) (*calendar, error) {
	if len(windows) == 0 || len(windows) > 100 || len(freezes) > 1000 {
		return nil, errors.New("windows: expected at least one, and at most 100, with at most 1000 freezes")
	}
	if zone == "" || zone == "Local" {
		return nil, errors.New("timezone: expected a name such as Europe/Berlin")
	}
	c := &calendar{}
	var err error
	if c.zone, err = time.LoadLocation(zone); err != nil {
		return nil, fmt.Errorf("timezone: %q is not known", zone)
	}
	for _, w := range windows {
		s, err := w.span()
		if err != nil {
			return nil, err
		}
		c.windows = append(c.windows, s)
	}
	for _, text := range freezes {
		first, last, ranged := strings.Cut(text, "/")
		if !ranged {
			last = first
		}
		from, err1 := time.ParseInLocation(time.DateOnly, first, c.zone)
		to, err2 := time.ParseInLocation(time.DateOnly, last, c.zone)
		if err1 != nil || err2 != nil || to.Before(from) {
			return nil, fmt.Errorf("freezes: %q is not a day such as 2026-12-24, or 2026-12-24/2027-01-02", text)
		}
		c.freezes = append(c.freezes, [2]time.Time{from, time.Date(to.Year(), to.Month(), to.Day()+1, 0, 0, 0, 0, c.zone)})
	}
	return c, nil
}

var dayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

func (w *window) span() (s span, err error) {
	for _, day := range w.Days {
		at := slices.Index(dayNames, strings.ToLower(day))
		if at < 0 {
			return s, fmt.Errorf("windows: %q is not a day; the days are mon, tue, wed, thu, fri, sat and sun", day)
		}
		s.days[at] = true
	}
	if len(w.Days) == 0 {
		s.days = [7]bool{true, true, true, true, true, true, true}
	}
	if s.from, err = minutes(w.From); err == nil {
		s.to, err = minutes(w.To)
	}
	switch {
	case err != nil:
		return s, fmt.Errorf("windows: %w", err)
	case s.from == s.to || s.from == 24*60:
		return s, fmt.Errorf("windows: the window from %s to %s is empty", w.From, w.To)
	case s.to < s.from:
		s.to += 24 * 60
	}
	return s, nil
}

func minutes(text string) (int, error) {
	if text == "24:00" {
		return 24 * 60, nil
	}
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time such as 09:00", text)
	}
	return t.Hour()*60 + t.Minute(), nil
}

func (c *calendar) judge(f *facts.Document, now time.Time, r *report) {
	if planned := f.Run.PlannedAt; now.IsZero() || planned.After(now.Add(maxSkew)) {
		r.unknown("", "the clock shows %s, which is before the plan was made: it was changed", now.UTC().Format(time.RFC3339))
		return
	}
	until, next := c.at(now)
	if !until.IsZero() {
		r.result.ValidUntil = until
		return
	}
	text := "no window begins in the next year"
	if r.result.RetryAt = next; !next.IsZero() {
		text = "the next begins at " + next.In(c.zone).Format("Mon 2006-01-02 15:04 MST")
	}
	r.object("", "no change window is open; %s", text)
}

// at returns the end of the open window, or the begin of the next one. Windows that overlap or meet
// are one.
func (c *calendar) at(now time.Time) (until, next time.Time) {
	today := now.In(c.zone)
	var parts [][2]time.Time
	// A window of yesterday may end today. Most calendars repeat in a week; freezes may take a year.
	for day := -1; day <= 366; day++ {
		noon := time.Date(today.Year(), today.Month(), today.Day()+day, 12, 0, 0, 0, c.zone)
		for _, w := range c.windows {
			if w.days[noon.Weekday()] {
				parts = append(parts, c.on(noon, w)...)
			}
		}
		if day < 8 {
			continue
		}
		if until, next = find(parts, now); !until.IsZero() || !next.IsZero() {
			return until, next
		}
	}
	return find(parts, now)
}

// find returns the end of the part that has a time, or the begin of the next one.
func find(parts [][2]time.Time, now time.Time) (until, next time.Time) {
	slices.SortFunc(parts, func(a, b [2]time.Time) int { return a[0].Compare(b[0]) })
	for _, p := range parts {
		begin, end := p[0], p[1]
		switch {
		case !until.IsZero():
			if begin.After(until) {
				return until, time.Time{}
			}
			until = latest(until, end)
		case !now.Before(begin) && now.Before(end):
			until = end
		case begin.After(now):
			return time.Time{}, begin
		}
	}
	return until, time.Time{}
}

// on returns when a window is open that begins on the day of a noon. Where clocks change, wall-clock
// times may be missing or happen twice: the window is open whenever the clock shows a time in it.
func (c *calendar) on(noon time.Time, w span) (open [][2]time.Time) {
	midnight := time.Date(noon.Year(), noon.Month(), noon.Day(), 0, 0, 0, 0, time.UTC)
	from, to := midnight.Add(time.Duration(w.from)*time.Minute), midnight.Add(time.Duration(w.to)*time.Minute)
	// Each period with one offset from UTC sees the window at its own time.
	for at := noon.Add(-36 * time.Hour); ; {
		_, offset := at.Zone()
		begins, ends := at.ZoneBounds()
		begin, end := from.Add(-time.Duration(offset)*time.Second), to.Add(-time.Duration(offset)*time.Second)
		if !begins.IsZero() {
			begin = latest(begin, begins)
		}
		if !ends.IsZero() {
			end = earliest(end, ends)
		}
		if begin.Before(end) {
			open = append(open, c.thaw(begin, end)...)
		}
		if ends.IsZero() || ends.After(noon.Add(72*time.Hour)) {
			return open
		}
		at = ends
	}
}

// thaw takes the freezes out of a window.
func (c *calendar) thaw(begin, end time.Time) [][2]time.Time {
	parts := [][2]time.Time{{begin, end}}
	for _, freeze := range c.freezes {
		var rest [][2]time.Time
		for _, p := range parts {
			if before := earliest(p[1], freeze[0]); p[0].Before(before) {
				rest = append(rest, [2]time.Time{p[0], before})
			}
			if after := latest(p[0], freeze[1]); after.Before(p[1]) {
				rest = append(rest, [2]time.Time{after, p[1]})
			}
		}
		parts = rest
	}
	return parts
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
