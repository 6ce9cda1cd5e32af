// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// span is a text of one colour.
type span struct{ words, color string }

type screenLine []span

// screenSize is the size of a screen; zero for none.
type screenSize struct{ width, height int }

func textLine(format string, args ...any) screenLine {
	return screenLine{{words: fmt.Sprintf(format, args...)}}
}

func (l screenLine) text(colors bool) string {
	var b strings.Builder
	for _, s := range l {
		if colors && s.color != "" && s.words != "" {
			b.WriteString(s.color + s.words + ui.ColorReset)
			continue
		}
		b.WriteString(s.words)
	}
	return strings.TrimRight(b.String(), " ")
}

func (l screenLine) cut(width int) screenLine {
	var short screenLine
	for _, s := range l {
		if ui.Length(s.words) > width {
			return append(short, span{ui.CutAt(s.words, width), s.color})
		}
		width -= ui.Length(s.words)
		short = append(short, s)
	}
	return short
}

// leastFlow is the width below which lines are cut instead of continued.
const leastFlow = 80

// flow puts parts beside each other, on as many lines as needed.
func flow(label string, parts []screenLine, width int) []screenLine {
	line, lines := textLine("%s", label), []screenLine(nil)
	for i, part := range parts {
		switch {
		case i > 0 && width >= leastFlow && line.length()+len(flowGap)+part.length() > width:
			lines, line = append(lines, line), textLine("%*s", len(label), "")
		case i > 0:
			line = append(line, span{flowGap, ""})
		}
		line = append(line, part...)
	}
	return append(lines, line)
}

const flowGap = "   "

func (l screenLine) length() int {
	n := 0
	for _, s := range l {
		n += ui.Length(s.words)
	}
	return n
}

type topView struct {
	stacks  census
	figures content.Figures
	runs    []content.QueueEntry
	// trouble is the error of the last request; nil if it succeeded.
	trouble error
	// The loads of server, runner and tools, in cores; negative if unknown.
	server, runner, tools float64
	before                content.Figures
}

func (v *topView) take(f content.Figures, q content.Queue, namespace string) {
	v.trouble = nil
	v.server, _ = load(v.figures.Server, &f.Server, v.figures.At, f.At, -1)
	if v.figures.At.IsZero() || !v.figures.Started.Equal(f.Started) {
		v.server, v.runner, v.tools, v.before = -1, -1, -1, f
	}
	// The runner reports its usage with its polls, at other times than our requests.
	if was, is := v.before, f; is.Runner != nil && is.RunnerSeen != nil && was.Runner != nil && was.RunnerSeen != nil && is.RunnerSeen.After(*was.RunnerSeen) && is.Runner.CPU != was.Runner.CPU {
		v.runner, v.tools = load(*was.Runner, is.Runner, *was.RunnerSeen, *is.RunnerSeen, v.runner)
		v.before = f
	}
	v.figures = f
	v.runs = q.Items
	if namespace == "" {
		return
	}
	v.runs = slices.DeleteFunc(v.runs, func(e content.QueueEntry) bool { return e.Namespace != namespace })
	v.figures.Slowest = slices.DeleteFunc(slices.Clone(f.Slowest), func(e content.EndedRun) bool { return e.Namespace != namespace })
}

// load is the number of cores that a process, and its children, used between two times.
func load(was run.Usage, is *run.Usage, from, to time.Time, unknown float64) (own, children float64) {
	wall := to.Sub(from).Seconds()
	if wall <= 0 || is.CPU < was.CPU {
		return unknown, unknown
	}
	return time.Duration(is.CPU-was.CPU).Seconds() / wall, time.Duration(max(is.ChildCPU-was.ChildCPU, 0)).Seconds() / wall
}

// lines are the whole screen; without a size each list has topRows rows.
func (v *topView) lines(size screenSize) []screenLine {
	lines := slices.Concat([]screenLine{v.head()}, flow("Stacks ", v.counts(), size.width), flow("Runs   ", v.throughput(), size.width))
	if v.trouble != nil {
		lines = append(lines, screenLine{{"The server is unreachable; runs continue. Retrying …" + ui.FirstLine(diagnostic.Printable(v.trouble.Error()), 200), ui.ColorYellow}})
	}
	working, waiting := v.split()
	sections := []section{
		{none: "No run is running.", rows: v.workRows(working), need: len(working)},
		{rows: v.waitRows(waiting), need: len(waiting)},
		{rows: v.slowRows(), need: len(v.figures.Slowest)},
	}
	for i, rows := range share(sections, size.height-len(lines)) {
		lines = append(lines, sections[i].lines(rows)...)
	}
	if size.height > 0 && len(lines) > size.height {
		lines = lines[:size.height]
	}
	return lines
}

// section is a list on the screen. The first row has the heads; need is the number of rows without
// it; none is the text of an empty list.
type section struct {
	none string
	rows [][]string
	need int
}

// sectionHead is the number of lines beside the rows: an empty one and the heads.
const sectionHead = 2

// share divides the height among the lists: running runs first, the others share the rest.
func share(sections []section, height int) []int {
	rows := make([]int, len(sections))
	left := height - sectionHead*len(sections)
	for i, s := range sections {
		switch {
		case height <= 0:
			rows[i] = min(s.need, topRows)
			continue
		case i == 0:
			rows[i] = min(max(s.need, 1), max(left, 0))
		case i == len(sections)-1:
			rows[i] = min(s.need, max(left, 0))
		default:
			rows[i] = min(s.need, max(left/2, 0))
		}
		left -= rows[i]
	}
	return rows
}

func (s *section) lines(rows int) []screenLine {
	if s.need == 0 && s.none == "" {
		return nil
	}
	if s.need == 0 {
		return []screenLine{{}, {{s.none, ""}}}
	}
	lines := []screenLine{{}}
	for i, row := range inColumns(s.rows[:min(rows+1, len(s.rows))]) {
		color := ""
		if i == 0 {
			color = ui.ColorBold
		}
		lines = append(lines, screenLine{{row, color}})
	}
	return lines
}

func inColumns(rows [][]string) []string {
	for _, row := range rows {
		for i, cell := range row {
			row[i] = ui.OneLine(cell)
		}
	}
	columns, lines := ui.Fit(rows, 0), make([]string, len(rows))
	columns.Gap = ui.SmallGap
	for i, row := range rows {
		lines[i] = columns.Line(row)
	}
	return lines
}

func (v *topView) head() screenLine {
	f := v.figures
	line := screenLine{{"yuba " + diagnostic.Printable(f.Version), ui.ColorBold}, {"  up " + ui.Age(f.At, f.Started), ""},
		{fmt.Sprintf("   server %s%s", ui.Size(f.Server.MemoryBytes), percent(v.server)), ""}}
	if f.Runner != nil {
		line = append(line, span{fmt.Sprintf("   runner %s%s", ui.Size(f.Runner.MemoryBytes), percent(v.runner)), ""})
		if load := percent(v.tools); load != "" {
			line = append(line, span{"   tools" + load, ""})
		}
	}
	if !f.RunnerAlive {
		line = append(line, span{"   no runner connected", ui.ColorRed})
	}
	return line
}

// percent is a load in percent of a core, as in top.
func percent(cores float64) string {
	if cores < 0 {
		return ""
	}
	return fmt.Sprintf(" %.0f%%", 100*cores)
}

func (v *topView) counts() []screenLine {
	parts := []screenLine{textLine("%d", v.stacks.total())}
	for _, part := range []struct {
		standing standing
		words    string
		color    string
		// rare ones are only shown if there are any.
		rare bool
	}{{standsReady, "ready", ui.ColorGreen, false}, {standsRunning, "running", "", false}, {standsForApproval, "waiting for approval", ui.ColorYellow, false},
		{standsForDependencies, "waiting for dependencies", "", true}, {standsFailing, "failing", ui.ColorRed, false}, {standsDrifted, "drifted", ui.ColorYellow, false},
		{standsPaused, "paused", ui.ColorYellow, true}, {standsSuspended, "suspended", "", true}, {standsOther, "other", "", true}} {
		n, color := v.stacks[part.standing], part.color
		if n == 0 {
			color = ""
		}
		if n > 0 || !part.rare {
			parts = append(parts, screenLine{{fmt.Sprintf("%d %s", n, part.words), color}})
		}
	}
	return parts
}

func (v *topView) throughput() []screenLine {
	f := v.figures
	parts := []screenLine{textLine("%d of %d running", f.AtWork, f.Places)}
	if f.Prepared > 0 {
		parts = append(parts, textLine("%d prepared", f.Prepared))
	}
	minute := textLine("%d in the last minute", f.LastMinute)
	if f.FailedLastMinute > 0 {
		minute = append(minute, span{fmt.Sprintf(" (%d failed)", f.FailedLastMinute), ui.ColorRed})
	}
	return append(parts, textLine("%d waiting", f.Waiting), minute,
		textLine("since the start %d, %d failed, %d reconciliations skipped", f.Ended, f.Failed, f.Skipped))
}

func (v *topView) split() (working, waiting []content.QueueEntry) {
	for _, e := range v.runs {
		if e.Place == 0 {
			working = append(working, e)
		} else {
			waiting = append(waiting, e)
		}
	}
	return working, waiting
}

func (v *topView) workRows(runs []content.QueueEntry) [][]string {
	rows := [][]string{{"RUNNING", "RUN", "PHASE", "ELAPSED", "WHY"}}
	for _, e := range runs {
		since := e.Since
		if e.Started != nil {
			since = *e.Started
		}
		rows = append(rows, []string{e.Namespace + "/" + e.Name, e.Operation, e.Phase, ui.Age(v.figures.At, since), why(e)})
	}
	return rows
}

func (v *topView) waitRows(runs []content.QueueEntry) [][]string {
	rows := [][]string{{fmt.Sprintf("WAITING (%d)", len(runs)), "RUN", "PLACE", "AGE", "FOR", "WHY"}}
	for _, e := range runs {
		rows = append(rows, []string{e.Namespace + "/" + e.Name, e.Operation, strconv.Itoa(e.Place), ui.Age(v.figures.At, e.Since), e.Urgency, why(e)})
	}
	return rows
}

func why(e content.QueueEntry) string {
	if e.Waits == "" {
		return e.Trigger
	}
	return e.Trigger + "; " + e.Waits
}

func (v *topView) slowRows() [][]string {
	rows := [][]string{{"SLOWEST RECENT", "RUN", "TOOK", "ENDED", "OUTCOME"}}
	for _, e := range v.figures.Slowest {
		rows = append(rows, []string{e.Namespace + "/" + e.Name, e.Operation, took(time.Duration(e.Took)), ui.Age(v.figures.At, e.Finished) + " ago", e.Outcome})
	}
	return rows
}

// took is a duration, rounded by its size.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
