// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
)

// commandLine is the command that repeats the measurement.
func commandLine(args []string) string {
	if len(args) == 0 {
		return "make bench"
	}
	return fmt.Sprintf("make bench BENCHFLAGS='%s'", strings.Join(args, " "))
}

// writeMarkdown writes the table in docs/benchmarks.md, with the machine and the command. Values
// over their target are bold.
func (r report) writeMarkdown(w io.Writer) error {
	m := r.Machine
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %d cores (%s, %s of memory), load %s; %s.\n\n", m.System, m.Cores, m.Processor, m.Memory, m.Load, m.Tofu)
	fmt.Fprintf(&b, "```console\n$ %s\n```\n\n", r.Command)
	b.WriteString("| | measured | target | Yuba | plain tofu | CPU | trials |\n|---|---|---|---|---|---|---|\n")
	for _, x := range r.Results {
		target, cpu := "", ""
		measured := number(x.Value, x.Unit)
		if x.Limit != nil && x.Limit.Target != nil {
			target = number(*x.Limit.Target, x.Unit)
			if x.Value > *x.Limit.Target {
				measured = "**" + measured + "**"
			}
		}
		if x.CPURatio > 0 {
			cpu = fmt.Sprintf("%.2f", x.CPURatio)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %d |\n", cell(x.What), measured, target, x.Yuba.seconds(), x.ByHand.seconds(), cpu, x.Trials)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cell escapes a text for a table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// seconds is the median for people; short ones are in milliseconds.
func (s *spread) seconds() string {
	switch {
	case s == nil:
		return ""
	case s.Median >= 10_000:
		return fmt.Sprintf("%.1f s", s.Median/1000)
	}
	return fmt.Sprintf("%.0f ms", s.Median)
}
