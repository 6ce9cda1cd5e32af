// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/contracts/conform"
	"github.com/yuba-dev/yuba/internal/contracts/versions"
)

// message says what a verdict means, and how to go on. planned is sorted, the highest version first.
func (p Producer) message(planned []Publication, v Verdict) string {
	switch v.Outcome {
	case conform.Fits:
		if len(planned) == 0 {
			return fmt.Sprintf("%s does not publish contract %s, and no consumer loses it", p.Stack, p.Contract)
		}
		return fmt.Sprintf("%s fits %s", p.what(planned), count(len(p.Consumers), "consumer"))
	case conform.Unknown:
		return fmt.Sprintf("%s is unknown until the apply:%s\nIt is checked again after the apply, before it is published.",
			p.what(planned), indented(p.findings(planned, func(r conform.Result) []conform.Finding { return r.Unknown })))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s breaks", p.what(planned))
	names := v.Consumers()
	var lines []string
	for _, h := range v.Broken {
		lines = append(lines, h.String())
	}
	if len(names) == 0 {
		b.WriteString(", and no consumer reads what is wrong:")
		lines = p.findings(planned, func(r conform.Result) []conform.Finding { return r.Breaks })
	} else {
		fmt.Fprintf(&b, " %d of %s:", len(names), count(len(p.Consumers), "consumer"))
	}
	b.WriteString(indented(lines))
	p.advice(&b, planned)
	return b.String()
}

// what names the contract, the versions and the stack.
func (p Producer) what(planned []Publication) string {
	var list []string
	for _, one := range planned {
		list = append(list, one.Version.String())
	}
	if len(list) == 0 {
		return fmt.Sprintf("%s, which no longer publishes contract %s,", p.Stack, p.Contract)
	}
	slices.Reverse(list)
	return fmt.Sprintf("contract %s %s of %s", p.Contract, strings.Join(list, " and "), p.Stack)
}

func (p Producer) findings(planned []Publication, of func(conform.Result) []conform.Finding) []string {
	var lines []string
	for _, one := range planned {
		for _, f := range of(one.Result) {
			line := f.In(p.Contract)
			if len(planned) > 1 {
				line += " in " + one.Version.String()
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// advice says how to go on: keep the promise, or publish the next major version beside it. Then it
// names who would still read the old one.
func (p Producer) advice(b *strings.Builder, planned []Publication) {
	current, output := p.current(planned)
	next := current.Next(true)
	if slices.ContainsFunc(planned, func(one Publication) bool { return one.Version.Compare(current) > 0 }) {
		next = planned[0].Version
	}
	fmt.Fprintf(b, "\nKeep what %s %s promises, or publish %s beside it:\n", p.Contract, current, next)
	fmt.Fprintf(b, "    publishes: [{contract: %[1]s, version: %[2]s, value: %[3]s}, {contract: %[1]s, version: %[4]s, value: %[5]s}]",
		p.Contract, current, output, next, p.nextOutput(planned, next, output))
	var pins []string
	for _, c := range p.Consumers {
		if c.Range.Has(current) && !c.Range.Has(next) {
			pins = append(pins, fmt.Sprintf("%s (%s)", c.Name, c.Range))
		}
	}
	if slices.Sort(pins); len(pins) > 0 {
		fmt.Fprintf(b, "\nStill on %s:%s", series(current), indented(pins))
	}
}

// current returns the version whose promise is at stake: the highest one that consumers lose, else
// the highest planned one that breaks, else the highest planned one.
func (p Producer) current(planned []Publication) (versions.Version, string) {
	var lost []versions.Version
	for _, v := range p.Published {
		gone := !slices.ContainsFunc(planned, func(one Publication) bool { return one.Version.Compare(v) == 0 })
		needed := slices.ContainsFunc(p.Consumers, func(c Consumer) bool {
			return c.Range.Has(v) && !slices.ContainsFunc(planned, func(one Publication) bool { return c.Range.Has(one.Version) })
		})
		if gone && needed {
			lost = append(lost, v)
		}
	}
	if len(lost) > 0 {
		return slices.MaxFunc(lost, versions.Version.Compare), p.Contract
	}
	if i := slices.IndexFunc(planned, func(one Publication) bool { return one.Result.Outcome() == conform.Breaks }); i >= 0 {
		return planned[i].Version, output(planned[i], p.Contract)
	}
	if len(planned) > 0 {
		return planned[0].Version, output(planned[0], p.Contract)
	}
	return versions.Version{}, p.Contract
}

func output(one Publication, contract string) string {
	if one.Output == "" {
		return contract
	}
	return one.Output
}

// nextOutput names the output for the next version: the planned one, or a new one.
func (p Producer) nextOutput(planned []Publication, next versions.Version, current string) string {
	for _, one := range planned {
		if one.Version.Compare(next) == 0 && output(one, p.Contract) != current {
			return output(one, p.Contract)
		}
	}
	return fmt.Sprintf("%s_v%d", current, next.Major())
}

// series names the versions that a breaking change leaves behind: 1.x, or 0.2.x.
func series(v versions.Version) string {
	if v.Major() == 0 {
		return fmt.Sprintf("0.%d.x", v.Minor())
	}
	return fmt.Sprintf("%d.x", v.Major())
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
