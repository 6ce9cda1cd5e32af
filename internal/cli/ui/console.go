// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Console is where one call of the program reads and writes.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	// Interrupted is closed when the person presses Ctrl-C.
	Interrupted <-chan struct{}
	// Color is the flag --color: auto, always or never.
	Color string
}

// The colours of words that the commands themselves say.
const (
	ColorRed    = "\x1b[31m"
	ColorGreen  = "\x1b[32m"
	ColorYellow = "\x1b[33m"
	ColorBold   = "\x1b[1m"
	ColorReset  = "\x1b[0m"
)

// Colors says whether what goes to w may have colours.
func (c *Console) Colors(w io.Writer) bool {
	switch c.Color {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(w)
}

// Paint colours a text that goes to w, if colours are wanted there.
func (c *Console) Paint(w io.Writer, color, text string) string {
	if text == "" || !c.Colors(w) {
		return text
	}
	return color + text + ColorReset
}

// Interactive says whether somebody is there to answer a question.
func (c *Console) Interactive() bool { return IsTerminal(c.In) }

// ReadFile reads a file, or standard input for "-", of at most this many bytes.
func (c *Console) ReadFile(name string, most int64) ([]byte, error) {
	in := c.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close() //nolint:errcheck // read only
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case int64(len(data)) > most:
		return nil, fmt.Errorf("read %s: it is larger than %s", name, Size(most))
	}
	return data, nil
}

// IsTerminal says whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// News tells what goes on, on a line of its own.
func (c *Console) News(format string, args ...any) { fmt.Fprintf(c.Err, format+"\n", args...) }
