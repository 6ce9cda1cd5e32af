// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/speculative"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// note is a message about a line of a file.
type note struct {
	// Warning is false for errors.
	Warning bool
	// Path is in the repository; empty if the message is about none. Line is 0 if it is not known.
	Path string
	Line int
	// Title and Text may have been written by anybody.
	Title, Text string
}

// maxNotes limits the annotations: forges show the first ones only.
const maxNotes = 200

// notesOf are the problems of a survey and the findings of policies, each once, errors first.
func notesOf(v *surveyView) []note {
	var list []note
	add := func(n note) {
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	for i := range v.Stacks {
		t := &v.Stacks[i]
		for _, d := range t.Problems {
			add(note{d.Severity == diagnostic.Warning, t.inRepository(d.File), d.Line, d.Summary, textOf(t, d.Detail)})
		}
		if t.Result() == speculative.ResultFailed && !t.Problems.HasErrors() && !t.Policy.Refused() {
			add(note{Title: "The plan of " + t.Stack() + " failed", Text: strings.TrimSpace(t.Error)})
		}
		if t.Policy == nil {
			continue
		}
		for _, f := range t.Policy.Findings {
			add(note{f.Effect != effectDeny, t.place(), 0, "Policy " + f.Policy + " " + f.Rule, textOf(t, findingText(f))})
		}
		if t.Policy.Refused() && len(t.Policy.Findings) == 0 {
			add(note{Path: t.place(), Title: "Policies refuse the plan of " + t.Stack(), Text: t.Policy.Message})
		}
	}
	slices.SortStableFunc(list, func(a, b note) int { return rank(a) - rank(b) })
	return list[:min(len(list), maxNotes)]
}

// effectDeny is the effect of a finding that refuses a plan.
const effectDeny = "deny"

func rank(n note) int {
	if n.Warning {
		return 1
	}
	return 0
}

// textOf says which stack a message is of.
func textOf(t *surveyed, text string) string {
	if text == "" {
		return "Stack " + t.Stack()
	}
	return text + "\n\nStack " + t.Stack()
}

// place is a file of the stack that differs, for messages about the stack as a whole.
func (t *surveyed) place() string {
	if len(t.Files) == 0 {
		return ""
	}
	return t.Files[0]
}

// workflowEscapes are those of workflow commands: messages, and properties. They keep a hostile text
// from starting a command of its own.
var (
	messageEscapes  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// workflowCommands writes annotations as GitHub Actions reads them from a job's output.
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
func workflowCommands(list []note) string {
	var b strings.Builder
	for _, n := range list {
		kind := "error"
		if n.Warning {
			kind = "warning"
		}
		var properties []string
		if n.Path != "" {
			properties = append(properties, "file="+propertyEscapes.Replace(n.Path))
			if n.Line > 0 {
				properties = append(properties, fmt.Sprintf("line=%d", n.Line))
			}
		}
		properties = append(properties, "title="+propertyEscapes.Replace(diagnostic.Printable(n.Title)))
		fmt.Fprintf(&b, "::%s %s::%s\n", kind, strings.Join(properties, ","), messageEscapes.Replace(diagnostic.Printable(n.Text)))
	}
	return b.String()
}

// codeIssue is an issue of a code quality report.
// https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
type codeIssue struct {
	Description string       `json:"description"`
	CheckName   string       `json:"check_name"`
	Fingerprint string       `json:"fingerprint"`
	Severity    string       `json:"severity"`
	Location    codeLocation `json:"location"`
}

type codeLocation struct {
	Path  string    `json:"path"`
	Lines codeLines `json:"lines"`
}

type codeLines struct {
	Begin int `json:"begin"`
}

// codeQuality is GitLab's report. Messages about no file are not in it: each issue needs one.
func codeQuality(list []note) []codeIssue {
	issues := []codeIssue{}
	for _, n := range list {
		if n.Path == "" {
			continue
		}
		issue := codeIssue{Description: diagnostic.Printable(n.Title), CheckName: "yuba", Severity: "major", Location: codeLocation{n.Path, codeLines{max(n.Line, 1)}}}
		if n.Text != "" {
			issue.Description += ": " + diagnostic.Printable(n.Text)
		}
		if n.Warning {
			issue.Severity = "minor"
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", n.Path, n.Title, n.Text))
		issue.Fingerprint = hex.EncodeToString(sum[:16])
		issues = append(issues, issue)
	}
	return issues
}
