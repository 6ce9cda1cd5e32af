// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// failing is a tool's report.
type failing struct{ summary, detail, address string }

var (
	snippetLine = regexp.MustCompile(`^\s*\d+: |^\s*\^+\s*$|^\s*[│├╵╷]`)
	placeLine   = regexp.MustCompile(`^\s*on \S.*( line \d+.*)?:$`)
)

// readError reads the first error in a message, as the tool prints it: a summary, a place, source
// lines, and a detail.
func readError(message string) failing {
	before, text, found := strings.Cut("\n"+message, "\nError: ")
	if !found {
		before, text, found = strings.Cut(message, "Error: ")
	}
	if !found {
		text = before
	}
	text, _, _ = strings.Cut(text, "\nError: ")
	var e failing
	var detail []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		trimmed := strings.TrimSpace(line)
		address, with := strings.CutPrefix(trimmed, "with ")
		switch {
		case e.summary == "":
			e.summary = trimmed
		case with && strings.HasSuffix(address, ",") && len(detail) == 0:
			e.address = strings.TrimSuffix(address, ",")
		case trimmed == "" || placeLine.MatchString(line) || snippetLine.MatchString(line):
		case len(detail) < maxDetail:
			detail = append(detail, trimmed)
		}
	}
	e.detail = strings.Join(detail, " ")
	return e
}

// maxDetail bounds the lines of a detail: what follows is advice, or a trace.
const maxDetail = 4

// typeOf is the type in a resource's address.
func typeOf(address string) string {
	steps := stepsOf(address)
	for len(steps) > 2 && steps[0] == "module" {
		steps = steps[2:]
	}
	if len(steps) > 0 && steps[0] == "data" {
		steps = steps[1:]
	}
	if len(steps) < 2 || strings.HasPrefix(steps[0], "provider") {
		return ""
	}
	return steps[0]
}

// namesIn are the names in an address, without the types.
func namesIn(address string) []string {
	kind := typeOf(address)
	return slices.DeleteFunc(stepsOf(address), func(s string) bool { return s == kind || s == "module" || s == "data" })
}

var index = regexp.MustCompile(`\[[^\]]*\]`)

func stepsOf(address string) []string {
	return strings.Split(index.ReplaceAllString(address, ""), ".")
}

var (
	blockLine     = regexp.MustCompile(`^\s*(\S+) (resource|data) "([^"]+)" "[^"]*" \{$`)
	attributeLine = regexp.MustCompile(`^ {6}[~+-] ("[^"]+"|[\w-]+) *(=|\{)`)
)

const (
	// deleted stands for an object that somebody deleted, so that the plan creates it again.
	deleted = "deleted"
	// unplanned stands for an object that the plan destroys.
	unplanned = "to be destroyed"
	// actions begins the part of a readable plan that says what it would do.
	actions = "Actions in this plan:"
	// maxNamed bounds the types and the attributes that a cause names.
	maxNamed = 5
)

// readDrift reads which types and attributes differ in a readable plan. What the plan would do counts;
// if it would do nothing, what has changed.
func readDrift(message string) (types, attributes string) {
	if _, after, found := strings.Cut(message, actions); found {
		message = after
	}
	var kinds, names []string
	sign := ""
	for line := range strings.SplitSeq(message, "\n") {
		if m := blockLine.FindStringSubmatch(line); m != nil {
			sign = m[1]
			kinds = append(kinds, m[3])
			switch sign {
			case "+":
				names = append(names, deleted)
			case "-":
				names = append(names, unplanned)
			}
			continue
		}
		if m := attributeLine.FindStringSubmatch(line); m != nil && sign != "+" && sign != "-" && sign != "" {
			names = append(names, strings.Trim(m[1], `"`))
		}
	}
	return named(kinds), named(names)
}

// named lists words once each, sorted.
func named(words []string) string {
	slices.Sort(words)
	words = slices.Compact(words)
	if more := len(words) - maxNamed; more > 0 {
		words = append(words[:maxNamed:maxNamed], "and "+strconv.Itoa(more)+" more")
	}
	return strings.Join(words, ", ")
}
