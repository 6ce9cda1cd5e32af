// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// maxOutputText limits an output's value on a line of the log.
const maxOutputText = 400

// RenderLine formats one line of tofu's machine-readable output for people: usually one line,
// several for a diagnostic, and "" for an event without news. The result has no final newline.
func RenderLine(line []byte, color bool) string { return ParseEvent(line).Render(color) }

// Render formats an event, see RenderLine.
func (e Event) Render(color bool) string {
	p := painter(color)
	text := diagnostic.Printable(e.Message)
	switch e.Type {
	case Raw:
		return text
	case RefreshComplete, ProvisionComplete:
		return ""
	case Diagnostic:
		if e.Diagnostic == nil {
			return text
		}
		return strings.TrimRight(e.Diagnostic.Format(diagnostic.Options{Color: color}), "\n")
	case PlannedChange:
		return e.planned(p)
	case ResourceDrift:
		return fmt.Sprintf("%s %s: changed outside of the stack (%s)", p.paint("!", cyan), diagnostic.Printable(e.Resource), diagnostic.Printable(string(e.Action)))
	case ChangeSummary:
		return p.paint(text, boldCode)
	case Outputs:
		return e.outputs(p)
	case ApplyErrored, ProvisionErrored:
		return p.paint(text, redCode)
	case ApplyComplete:
		return p.paint(text, greenCode)
	case Log:
		if e.HasState {
			return text + " (hidden: a state contains secrets)"
		}
	}
	switch e.Level {
	case "error":
		return p.paint(text, redCode)
	case "warn":
		return p.paint(text, yellowCode)
	}
	return text
}

func (e Event) planned(p painter) string {
	text := p.symbol(e.Action) + " " + diagnostic.Printable(e.Resource)
	if e.Previous != "" {
		text += " (moved from " + diagnostic.Printable(e.Previous) + ")"
	}
	if e.Reason != "" {
		text += " (" + strings.ReplaceAll(diagnostic.Printable(e.Reason), "_", " ") + ")"
	}
	return text
}

// outputs lists the changed outputs of a plan, or the values after an apply.
func (e Event) outputs(p painter) string {
	var lines []string
	for _, name := range keys(e.Outputs) {
		o, shown := e.Outputs[name], diagnostic.Printable(name)
		switch {
		case o.Action == NoOp:
		case o.Action != "":
			lines = append(lines, p.symbol(o.Action)+" output "+shown)
		case o.Sensitive:
			lines = append(lines, shown+" = "+SensitiveMark)
		default:
			lines = append(lines, shown+" = "+shortJSON(o.Value))
		}
	}
	return strings.Join(lines, "\n")
}

// shortJSON formats a value on one line.
func shortJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil {
		return "null"
	}
	return diagnostic.Printable(shorten.Cut(b.String(), maxOutputText))
}
