// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/web/find"
	"github.com/yuba-dev/yuba/internal/web/query"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// column is a column of the list.
type column struct {
	key, title string
	// text is what it shows, and exports.
	text func(s *find.Stack) string
	// at is its time, for columns that show one.
	at func(s *find.Stack) time.Time
	// drawn columns are drawn by the template: their text is only for exports.
	drawn bool
	// mono columns have a fixed width for each character; those of short texts stay on one line.
	mono, short bool
}

// labelColumn begins the key of the column of a label.
const labelColumn = "label:"

var defaultColumns = []string{"state", "stack", "what", "changes", "revision", "runs", "since"}

var columns = []column{
	{key: "state", title: "State", drawn: true, text: func(s *find.Stack) string { return string(s.State) }},
	{key: "stack", title: "Stack", drawn: true, text: func(s *find.Stack) string { return s.Key() }},
	{key: "what", title: "What", text: func(s *find.Stack) string { return firstLine(s.Facts.Text) }},
	{key: "changes", title: "Changes", mono: true, short: true, text: func(s *find.Stack) string { return s.Status.Plan.Summary }},
	{key: "plan", title: "Pending plan", mono: true, text: func(s *find.Stack) string { return s.Status.Plan.Pending }},
	{key: "revision", title: "Revision", mono: true, text: func(s *find.Stack) string { return s.Status.LastAppliedRevision }},
	{key: "source", title: "Source", text: func(s *find.Stack) string { return cmp.Or(s.Facts.Source, "inline") }},
	{key: "path", title: "Path", mono: true, text: func(s *find.Stack) string { return s.Spec.Path }},
	{key: "workspace", title: "Workspace", text: func(s *find.Stack) string { return s.WorkspaceName() }},
	{key: "tenant", title: "Tenant", text: func(s *find.Stack) string { return s.Facts.Tenant }},
	{key: "drift", title: "Drift", text: func(s *find.Stack) string { return yesNo(s.Facts.Drift) }},
	{key: "runs", title: "Recent runs", drawn: true, text: func(s *find.Stack) string { return lastOutcome(s) }},
	{key: "since", title: "Since", at: func(s *find.Stack) time.Time { return standing.Since(s.Terraform).Time }},
	{key: "changed", title: "Changed", at: func(s *find.Stack) time.Time { return s.Facts.Changed }},
	{key: "created", title: "Created", at: func(s *find.Stack) time.Time { return s.CreationTimestamp.Time }},
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// digests in messages are shortened, as in the columns of revisions.
var digests = regexp.MustCompile(`\b(sha(?:1|256):[0-9a-f]{8})[0-9a-f]{32,}\b`)

// firstLine is enough for a table; messages can have thousands of lines.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	const most = 400
	line = digests.ReplaceAllString(line, "$1")
	if len(line) > most {
		return strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}

func lastOutcome(s *find.Stack) string {
	if run := s.Status.LastRun; run != nil {
		return run.Status
	}
	return ""
}

// columnOf returns a column, also that of a label.
func columnOf(key string) (column, bool) {
	if i := slices.IndexFunc(columns, func(c column) bool { return c.key == key }); i >= 0 {
		return columns[i], true
	}
	if name, ok := strings.CutPrefix(key, labelColumn); ok && name != "" && len(name) < 320 {
		return column{key: key, title: name, text: func(s *find.Stack) string { return labelOf(s, name) }}, true
	}
	return column{}, false
}

func knownColumn(key string) bool { _, ok := columnOf(key); return ok }

// labelOf is the value of a label, whose name may lack its prefix.
func labelOf(s *find.Stack, name string) string {
	if value, ok := s.Labels[name]; ok {
		return value
	}
	best := ""
	for key := range s.Labels {
		if query.IsLabel(key, name) && (best == "" || key < best) {
			best = key
		}
	}
	return s.Labels[best]
}

// value is what a column exports.
func (c column) value(s *find.Stack) string {
	if c.at == nil {
		return c.text(s)
	}
	if at := c.at(s); !at.IsZero() {
		return at.UTC().Format(time.RFC3339)
	}
	return ""
}

// sortBy sorts stacks by a column. They are in the order of states and names already, which stays
// among equal ones.
func sortBy(stacks []find.Stack, key string) {
	name, down := strings.CutPrefix(key, "-")
	c, ok := columnOf(name)
	if !ok || name == "state" && !down {
		return
	}
	compare := func(a, b *find.Stack) int { return strings.Compare(c.text(a), c.text(b)) }
	switch {
	case c.at != nil: // the last change first
		compare = func(a, b *find.Stack) int { return c.at(b).Compare(c.at(a)) }
	case name == "state":
		compare = func(a, b *find.Stack) int { return a.State.Rank() - b.State.Rank() }
	}
	find.Sort(stacks, func(a, b *find.Stack) int {
		if down {
			return compare(b, a)
		}
		return compare(a, b)
	})
}
