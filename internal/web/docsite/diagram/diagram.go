// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package diagram draws diagrams in the language of Mermaid as SVG, as far as the documentation uses
// it: flowcharts, states and sequences.
//
// It is pure, and the same text makes the same picture. Looks are classes of the stylesheet; nothing is
// interpreted as markup but line breaks. A text that it does not understand is an error, and the page
// then shows the text.
//
// A flowchart's subgraphs are no boxes: their titles are captions of their nodes, as nodes of a
// subgraph need not be neighbours.
package diagram

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"
)

// SVG draws a diagram.
func SVG(text string) (string, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	kind, direction, _ := strings.Cut(strings.TrimSpace(lines[0]), " ")
	switch kind {
	case "flowchart", "graph":
		g, err := parseFlow(lines[1:])
		if err != nil {
			return "", err
		}
		down := direction != "LR"
		drawn, width := g.draw(down)
		if width > readable && !down {
			if g, err = parseFlow(lines[1:]); err == nil {
				drawn, _ = g.draw(true)
			}
		}
		return drawn, err
	case "stateDiagram-v2":
		g, err := parseStates(lines[1:])
		if err != nil {
			return "", err
		}
		drawn, _ := g.draw(true)
		return drawn, nil
	case "sequenceDiagram":
		s, err := parseSequence(lines[1:])
		if err != nil {
			return "", err
		}
		return s.draw(), nil
	}
	return "", fmt.Errorf("%q is not a kind of diagram that can be drawn", kind)
}

// Measures in pixels. Texts have 13 pixels; their widths are estimates for a wide sans-serif.
const (
	line    = 17.0
	letter  = 7.1
	padding = 10.0
	margin  = 6.0
	// readable is the width of a page: what is wider is drawn downwards, as it would be too small.
	readable = 900.0
)

var lineBreak = regexp.MustCompile(`<br\s*/?>`)

// label is a text of one or more lines.
type label []string

// labelOf reads a label.
func labelOf(text string) label {
	text = strings.TrimSpace(text)
	if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' {
		text = text[1 : len(text)-1]
	}
	if text == "" {
		return nil
	}
	return lineBreak.Split(text, -1)
}

func (l label) width() float64 {
	most := 0
	for _, text := range l {
		most = max(most, utf8.RuneCountInString(text))
	}
	return float64(most) * letter
}

func (l label) height() float64 { return float64(len(l)) * line }

func (l label) String() string { return strings.Join(l, " ") }

// picture writes SVG.
type picture struct{ strings.Builder }

func (p *picture) add(format string, values ...any) { fmt.Fprintf(p, format, values...) }

// text writes a label around a point.
func (p *picture) text(l label, x, y float64, class string) {
	y -= l.height()/2 - line*0.72
	for _, text := range l {
		p.add(`<text class="%s" x="%.0f" y="%.0f">%s</text>`, class, x, y, html.EscapeString(text))
		y += line
	}
}

// head writes the point of an arrow at x, y that leads in the direction dx, dy, which is along an axis.
func (p *picture) head(x, y, dx, dy float64) {
	const long, wide = 8.0, 4.0
	p.add(`<path class="head" d="M%.1f %.1fL%.1f %.1fL%.1f %.1fZ"/>`, x, y, x-dx*long-dy*wide, y-dy*long-dx*wide, x-dx*long+dy*wide, y-dy*long+dx*wide)
}

// done is the picture with its size and what it says for those who do not see it.
func (p *picture) done(width, height float64, says string) string {
	return fmt.Sprintf(`<svg class="drawn" role="img" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f"><title>%s</title>%s</svg>`,
		width, height, width, height, html.EscapeString(says), p.String())
}
