// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runlog

import (
	"bufio"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

const (
	// maxRead is the longest line that is read as a whole, maxText the longest text that is shown.
	maxRead = 1 << 20
	maxText = 8 << 10
)

// Line is one line of a log as it is shown. Its text may have several lines.
type Line struct {
	Number int
	// Level is "error" or "warn", else empty.
	Level string
	Time  time.Time
	HTML  template.HTML
	// Cut says what is missing; empty for nothing.
	Cut string
}

// raw is one line of the stored log.
type raw struct {
	number int
	text   []byte
	// length is that of the whole line.
	length int
}

// Reader reads the lines of a log.
type Reader struct {
	lines  *bufio.Reader
	number int
	buffer []byte
}

// NewReader returns a reader of a log.
func NewReader(log io.Reader) *Reader { return &Reader{lines: bufio.NewReaderSize(log, 64<<10)} }

// next returns the next line, valid until the one after it. It returns io.EOF at the end.
func (r *Reader) next() (raw, error) {
	r.buffer = r.buffer[:0]
	length := 0
	for {
		part, err := r.lines.ReadSlice('\n')
		length += len(part)
		if room := maxRead - len(r.buffer); room > 0 {
			r.buffer = append(r.buffer, part[:min(len(part), room)]...)
		}
		switch {
		case err == nil, errors.Is(err, io.EOF) && length > 0:
			r.number++
			return raw{r.number, r.buffer, length}, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return raw{}, err
		}
	}
}

// Number is the number of the last line that was read.
func (r *Reader) Number() int { return r.number }

// Next returns the next line and its event. The line has no HTML if there is nothing to show. It
// returns io.EOF at the end.
func (r *Reader) Next() (Line, plan.Event, error) {
	l, err := r.next()
	if err != nil {
		return Line{}, plan.Event{}, err
	}
	event := eventOf(l)
	return drawnOf(l, event).line(), event, nil
}

// Skip passes over lines up to a number. It returns io.EOF if the log ends before.
func (r *Reader) Skip(upTo int) error {
	for r.number < upTo {
		if _, err := r.next(); err != nil {
			return err
		}
	}
	return nil
}

func eventOf(l raw) plan.Event {
	if l.length > len(l.text) { // what was read is only a beginning
		return plan.Event{Type: plan.Raw, Message: strings.ToValidUTF8(string(l.text[:maxText]), "\uFFFD")}
	}
	return plan.ParseEvent(l.text)
}

// drawn is a line with its text, before it is made HTML.
type drawn struct {
	Line
	text string
	// whole is the length of what the text was cut from.
	whole int
}

func drawnOf(l raw, e plan.Event) drawn {
	d := drawn{Line: Line{Number: l.number, Time: e.Time}, text: textOf(e)}
	if e.Level == "error" || e.Level == "warn" {
		d.Level = e.Level
	}
	d.whole = len(d.text)
	if l.length > len(l.text) {
		d.whole = l.length
	}
	return d
}

// line makes HTML of the text; without any there is nothing to show.
func (d drawn) line() Line {
	text := shorten.CutBytes(d.text, maxText)
	if d.whole > maxText {
		d.Cut = fmt.Sprintf("This line is cut: it has %d bytes.", d.whole)
	}
	if text != "" {
		d.HTML = HTML(text)
	}
	return d.Line
}

// textOf is what an event says to people. Only the output of programs keeps its colours.
func textOf(e plan.Event) string {
	switch e.Type {
	case plan.Raw, plan.Note, plan.ProvisionProgress:
		return e.Message
	}
	return e.Render(false)
}
