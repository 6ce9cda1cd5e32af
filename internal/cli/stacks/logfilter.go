// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"bytes"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// logLevels are the levels of tofu's messages, the least important first.
var logLevels = []string{"debug", "info", "warn", "error"}

type logFilter struct {
	// level is the lowest level to show; empty for all.
	level string
	// since excludes older lines.
	since time.Time
	// tail is the number of existing lines to show; negative for all.
	tail int

	// late is whether the previous line was after since; lines without a time follow it.
	late bool
}

type logFilterFlags struct {
	level, sinceTime string
	since            time.Duration
	tail             int
}

func (f *logFilterFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.level, "level", "", "show only messages of this level and above: debug, info, warn or error")
	flags.DurationVar(&f.since, "since", 0, "show only lines newer than this, such as 5m")
	flags.StringVar(&f.sinceTime, "since-time", "", "show only lines newer than this time, such as 2026-01-02T15:04:05Z")
	flags.IntVar(&f.tail, "tail", -1, "show only this many of the existing lines")
	ui.Complete(cmd, "level", logLevels...)
}

func (f *logFilterFlags) filter(cmd *cobra.Command, now time.Time) (*logFilter, error) {
	filter := &logFilter{level: f.level, tail: f.tail}
	if f.level != "" && !slices.Contains(logLevels, f.level) {
		return nil, ui.UsageErrorf(cmd, "--level %s: want debug, info, warn or error", f.level)
	}
	if f.since > 0 && f.sinceTime != "" {
		return nil, ui.UsageErrorf(cmd, "use --since or --since-time, not both")
	}
	if f.since > 0 {
		filter.since = now.Add(-f.since)
	}
	if f.sinceTime != "" {
		var err error
		if filter.since, err = time.Parse(time.RFC3339, f.sinceTime); err != nil {
			return nil, ui.UsageErrorf(cmd, "--since-time %s: want a time such as %s", f.sinceTime, now.UTC().Format(time.RFC3339))
		}
	}
	return filter, nil
}

// shows reports whether a line is shown; it needs the lines in order. A line that is not a message
// of tofu has level info, and the time of the line before.
func (f *logFilter) shows(line []byte) bool {
	event := plan.ParseEvent(line)
	if !event.Time.IsZero() || f.since.IsZero() {
		f.late = !event.Time.Before(f.since)
	}
	level := event.Level
	if !slices.Contains(logLevels, level) {
		level = "info"
	}
	return f.late && (f.level == "" || slices.Index(logLevels, level) >= slices.Index(logLevels, f.level))
}

type logTail struct {
	most  int
	lines [][]byte
}

func (t *logTail) add(line []byte) {
	if t.most == 0 {
		return
	}
	if len(t.lines) == t.most {
		t.lines = t.lines[1:]
	}
	t.lines = append(t.lines, bytes.Clone(line))
}
