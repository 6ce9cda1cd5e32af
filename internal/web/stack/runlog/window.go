// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runlog

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// Options select lines of a log.
type Options struct {
	// From is the number of the first line; 0 for the last lines of the log.
	From int
	// Find is a text that lines must have, in any case; empty for all lines.
	Find string
	// Level is "error" or "warn" for these and worse lines; empty for all.
	Level string
	// Most is how many lines are selected.
	Most int
}

// Window is a part of a log.
type Window struct {
	Lines []Line
	// Total is the number of lines of the whole log; Found of those that were asked for.
	Total, Found int
	// Earlier and Later are true if there are more lines before and after these.
	Earlier, Later bool
	Progress       *Progress
}

// First and Last are the numbers of the first and the last line; 0 without lines.
func (w *Window) First() int {
	if len(w.Lines) == 0 {
		return 0
	}
	return w.Lines[0].Number
}

// Last is the number of the last line.
func (w *Window) Last() int {
	if len(w.Lines) == 0 {
		return 0
	}
	return w.Lines[len(w.Lines)-1].Number
}

// Read reads a whole log and keeps a part of it. A log that breaks off is read as far as it goes.
func Read(log io.Reader, o Options) (*Window, error) {
	w, reader := &Window{Progress: &Progress{}}, NewReader(log)
	var kept []drawn
	defer func() {
		for _, d := range kept {
			w.Lines = append(w.Lines, d.line())
		}
	}()
	for {
		l, err := reader.next()
		if errors.Is(err, io.EOF) {
			return w, nil
		}
		if err != nil {
			return w, err
		}
		w.Total = l.number
		event := eventOf(l)
		w.Progress.Add(event)
		if d := drawnOf(l, event); d.text != "" && o.wants(d, event) {
			kept = w.take(kept, d, o)
		}
	}
}

// take keeps a line that is asked for, if it is in the window.
func (w *Window) take(kept []drawn, d drawn, o Options) []drawn {
	w.Found++
	switch {
	case o.From > 0 && d.Number < o.From:
		w.Earlier = true
		return kept
	case o.From > 0 && len(kept) == o.Most:
		w.Later = true
		return kept
	case len(kept) == o.Most:
		copy(kept, kept[1:])
		kept = kept[:len(kept)-1]
		w.Earlier = true
	}
	d.text = strings.Clone(shorten.CutBytes(d.text, maxText))
	return append(kept, d)
}

func (o Options) wants(d drawn, e plan.Event) bool {
	switch {
	case o.Level == "error" && e.Level != "error":
		return false
	case o.Level == "warn" && e.Level != "error" && e.Level != "warn":
		return false
	case o.Find == "":
		return true
	}
	return strings.Contains(strings.ToLower(d.text), strings.ToLower(o.Find))
}

// WriteText writes a log as people read it, without colours.
func WriteText(w io.Writer, log io.Reader) error {
	reader, out := NewReader(log), bufio.NewWriter(w)
	for {
		l, err := reader.next()
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err != nil {
			return err
		}
		if text := diagnostic.Printable(style.ReplaceAllString(drawnOf(l, eventOf(l)).text, "")); text != "" {
			out.WriteString(text) //nolint:errcheck // Flush returns it
			out.WriteByte('\n')   //nolint:errcheck // Flush returns it
		}
	}
}
