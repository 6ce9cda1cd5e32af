// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/platform/progress"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// view shows the phases of a platform: as a table that is drawn again on a terminal, as lines elsewhere, and as JSON,
// one event a line, for programs.
type view struct {
	*ui.Console
	machine, screen bool
	before          *yubav1.PlatformStatus
	// drawn are the lines of the table on the screen.
	drawn int
}

func newView(c *ui.Console, out *ui.Output) *view {
	return &view{Console: c, machine: out.Machine(), screen: !out.Machine() && ui.IsTerminal(c.Err)}
}

// show shows a status.
func (v *view) show(p *yubav1.Platform) {
	events := progress.Between(v.before, &p.Status, time.Now())
	status := p.Status.DeepCopy()
	v.before = status
	switch {
	case v.screen:
		v.draw(p)
	case v.machine:
		for _, e := range events {
			v.write(e)
		}
	default:
		for _, e := range events {
			if e.State != string(yubav1.PhaseWaiting) {
				v.News("%s %-24s %s", e.Time.Local().Format(time.TimeOnly), e.Phase, ui.FirstLine(diagnostic.Printable(e.Message), 160))
			}
		}
	}
}

// done is the last event for programs.
type done struct {
	Event  string            `json:"event"`
	Name   string            `json:"name"`
	Ready  bool              `json:"ready"`
	Reason string            `json:"reason"`
	Phases map[string]string `json:"phases"`
	// Endpoints are the addresses of the platform.
	Endpoints []yubav1.PlatformEndpoint `json:"endpoints"`
	// Records are the DNS records that people create.
	Records []yubav1.PlatformRecord `json:"records"`
	Message string                  `json:"message"`
}

func (v *view) write(value any) {
	if text, err := json.Marshal(value); err == nil {
		fmt.Fprintln(v.Out, string(text)) //nolint:errcheck // the reader is gone
	}
}

// end shows how it ended.
func (v *view) end(p *yubav1.Platform) {
	ready := conditions.Of(p, infrav1.ConditionReady)
	if v.machine {
		d := done{Event: "done", Name: p.Name, Ready: ready.Status == "True", Reason: ready.Reason, Message: ready.Message, Phases: map[string]string{}, Endpoints: append([]yubav1.PlatformEndpoint{}, p.Status.Endpoints...),
			Records: append([]yubav1.PlatformRecord{}, p.Status.Records...)}
		for _, phase := range p.Status.Phases {
			d.Phases[phase.Name] = string(phase.State)
		}
		v.write(d)
		return
	}
	if ready.Status != "True" && ready.Reason != yubav1.ReasonPlatformDecommissioned {
		return
	}
	v.News("\n%s", v.Paint(v.Err, ui.ColorGreen, ready.Message+"."))
	for _, e := range p.Status.Endpoints {
		v.News("  %-12s %-12s %s", e.Name, e.Region, diagnostic.Printable(e.Address))
	}
	if c := conditions.Of(p, yubav1.ConditionRecordsPresent); c.Reason != "" && c.Status != "True" {
		v.News("\n%s", v.Paint(v.Err, ui.ColorYellow, diagnostic.Printable(ui.OneLine(c.Message))+"."))
		v.News("All records, and whether they exist: yuba bootstrap status %s -n %s", p.Name, p.Namespace)
	}
}

// recordSigns are the states of records in the table.
var recordSigns = map[yubav1.PlatformRecordState]line{
	yubav1.RecordPresent: {"✓", ui.ColorGreen}, yubav1.RecordMissing: {"?", ui.ColorYellow}, yubav1.RecordUnknown: {"·", ""},
}

// recordLine is the line of a record, as in a zone file, with what is wrong.
func recordLine(r *yubav1.PlatformRecord) line {
	sign, says := recordSigns[r.State], ""
	if r.Message != "" {
		says = "  " + diagnostic.Printable(ui.OneLine(r.Message))
	}
	return line{fmt.Sprintf("  %s %s %s %s%s", sign.text, diagnostic.Printable(r.Name), r.Type, diagnostic.Printable(strings.Join(r.Addresses, " ")), says), sign.color}
}

// pause leaves the table on the screen, so that other text follows it.
func (v *view) pause() { v.drawn = 0 }

// draw draws the table in place of the last one.
func (v *view) draw(p *yubav1.Platform) {
	lines := lines(p, time.Now())
	width := v.Room(v.Err, nil)
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.drawn)
	}
	for _, line := range lines {
		color := line.color
		if !v.Colors(v.Err) {
			color = ""
		}
		text := line.text
		if width > 0 {
			text = ui.FirstLine(text, width)
		}
		if color != "" {
			text = color + text + ui.ColorReset
		}
		b.WriteString(text + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	fmt.Fprint(v.Err, b.String()) //nolint:errcheck // nobody sees it
	v.drawn = len(lines)
}

// line is a line of the table.
type line struct{ text, color string }

// signs are the states of phases in the table.
var signs = map[yubav1.PlatformPhaseState]line{
	yubav1.PhaseReady: {"✓", ui.ColorGreen}, yubav1.PhaseFailed: {"✗", ui.ColorRed}, yubav1.PhaseAwaitingApproval: {"?", ui.ColorYellow},
	yubav1.PhaseApplying: {"●", ui.ColorBold}, yubav1.PhasePlanning: {"●", ui.ColorBold}, yubav1.PhaseRemoving: {"●", ui.ColorYellow},
	yubav1.PhaseSuspended: {"-", ui.ColorYellow}, yubav1.PhaseAway: {"→", ui.ColorYellow}, yubav1.PhaseWaiting: {"·", ""},
}

// lines are the table of a platform.
func lines(p *yubav1.Platform, now time.Time) []line {
	ready := conditions.Of(p, infrav1.ConditionReady)
	list := []line{{fmt.Sprintf("%s (%s)  %s ready", p.Spec.Domain.FQDN, p.Name, p.Status.Progress), ui.ColorBold}}
	for _, phase := range p.Status.Phases {
		sign := signs[phase.State]
		took := ""
		if d := progress.Took(&phase, now); d > 0 {
			took = d.String()
		}
		list = append(list, line{fmt.Sprintf("  %s %-24s %7s  %s", sign.text, phase.Name, took, diagnostic.Printable(ui.OneLine(progress.MessageOf(&phase)))), sign.color})
	}
	for i := range p.Status.Records {
		if list = append(list, recordLine(&p.Status.Records[i])); i == 0 {
			list = slices.Insert(list, len(list)-1, line{"  DNS records that people create:", ""})
		}
	}
	for _, r := range p.Status.Remaining {
		list = append(list, line{fmt.Sprintf("  - %-24s %7s  removing, %d resources left. %s", r.Phase, "", r.Count, diagnostic.Printable(ui.OneLine(r.Message))), ui.ColorYellow})
	}
	return append(list, line{"  " + diagnostic.Printable(ui.OneLine(ready.Message)), ""})
}
