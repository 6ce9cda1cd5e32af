// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package diagram

import (
	"fmt"
	"regexp"
	"strings"
)

// sequence is who sends what to whom, in order.
type sequence struct {
	people []*participant
	byID   map[string]int
	steps  []step
}

type participant struct {
	label label
	x     float64
}

// step is a message, or the begin or the end of a loop.
type step struct {
	kind     string
	from, to int
	label    label
	dashed   bool
}

var (
	declared = regexp.MustCompile(`^(?:participant|actor)\s+(\w+)(?:\s+as\s+(.+))?$`)
	message  = regexp.MustCompile(`^(\w+)\s*(-->>|->>|-->|->)\s*(\w+)\s*:\s*(.+)$`)
	block    = regexp.MustCompile(`^(loop|opt)\s+(.+)$`)
)

func parseSequence(lines []string) (*sequence, error) {
	s := &sequence{byID: map[string]int{}}
	depth := 0
	for _, text := range lines {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		if found := declared.FindStringSubmatch(text); found != nil {
			s.person(found[1], found[2])
		} else if found := message.FindStringSubmatch(text); found != nil {
			s.steps = append(s.steps, step{kind: "message", from: s.person(found[1], ""), to: s.person(found[3], ""),
				label: labelOf(found[4]), dashed: strings.HasPrefix(found[2], "--")})
		} else if found := block.FindStringSubmatch(text); found != nil {
			s.steps = append(s.steps, step{kind: "begin", label: labelOf(found[1] + ": " + found[2])})
			depth++
		} else if text == "end" && depth > 0 {
			s.steps = append(s.steps, step{kind: "end"})
			depth--
		} else {
			return nil, fmt.Errorf("%q is not a message", text)
		}
	}
	if len(s.steps) == 0 || depth != 0 {
		return nil, fmt.Errorf("a sequence without messages, or a loop without an end")
	}
	return s, nil
}

func (s *sequence) person(id, name string) int {
	n, ok := s.byID[id]
	if !ok {
		n = len(s.people)
		s.byID[id] = n
		s.people = append(s.people, &participant{label: label{id}})
	}
	if name != "" {
		s.people[n].label = labelOf(name)
	}
	return n
}

// widen gives the participants places, with room for the messages between them. It returns the width.
func (s *sequence) widen() float64 {
	s.people[0].x = margin + s.people[0].label.width()/2 + padding
	width := 0.0
	for i, p := range s.people {
		if i > 0 {
			p.x = s.people[i-1].x + (s.people[i-1].label.width()+p.label.width())/2 + 3*padding
		}
		for _, step := range s.steps {
			from, to := min(step.from, step.to), max(step.from, step.to)
			if step.kind != "message" {
				continue
			}
			if from != to && to == i {
				p.x = max(p.x, s.people[from].x+step.label.width()+2*padding)
			}
			if from == to && to == i-1 {
				p.x = max(p.x, s.people[from].x+step.label.width()+5*padding)
			}
			if from == to && to == i {
				width = max(width, p.x+step.label.width()+5*padding)
			}
		}
		width = max(width, p.x+p.label.width()/2+padding)
	}
	return width + margin
}

func (s *sequence) draw() string {
	width := s.widen()
	const head, row = 30.0, 36.0
	p, rows := &picture{}, &picture{}
	y := margin + head + row*0.8
	var begun []float64
	var says []string
	for _, step := range s.steps {
		switch step.kind {
		case "begin":
			begun = append(begun, y-line)
			rows.text(step.label, margin+step.label.width()/2+padding, y-line/2+4, "caption")
			y += line * 1.2
		case "end":
			top := begun[len(begun)-1]
			begun = begun[:len(begun)-1]
			p.add(`<rect class="loop" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="4"/>`, margin, top, width-2*margin, y-row*0.6-top)
			y += line * 0.4
		default:
			s.message(rows, step, y)
			y += row + step.label.height() - line
			says = append(says, fmt.Sprintf("%s to %s: %s", s.people[step.from].label, s.people[step.to].label, step.label))
		}
	}
	bottom := y - row*0.4
	for _, who := range s.people {
		p.add(`<path class="life" d="M%.1f %.1fV%.1f"/>`, who.x, margin+head, bottom)
		w := who.label.width() + 2*padding
		p.add(`<rect class="node" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3"/>`, who.x-w/2, margin, w, head)
		p.text(who.label, who.x, margin+head/2, "")
	}
	p.WriteString(rows.String())
	return p.done(width, bottom+margin, strings.Join(says, "; "))
}

func (s *sequence) message(p *picture, m step, y float64) {
	style := ""
	if m.dashed {
		style = "dotted"
	}
	from, to := s.people[m.from].x, s.people[m.to].x
	if m.from == m.to {
		p.add(`<path class="edge %s" d="M%.1f %.1fh24v14h-18"/>`, style, from, y-7)
		p.head(from, y+7, -1, 0)
		p.text(m.label, from+32+m.label.width()/2, y, "link")
		return
	}
	way := 1.0
	if to < from {
		way = -1
	}
	p.add(`<path class="edge %s" d="M%.1f %.1fH%.1f"/>`, style, from, y, to-way*6)
	p.head(to, y, way, 0)
	p.text(m.label, (from+to)/2, y-line*0.6-(m.label.height()-line)/2, "link")
}
