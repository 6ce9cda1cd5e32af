// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Console has the standard streams of one call of the program.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	// Interrupted is closed on Ctrl-C.
	Interrupted <-chan struct{}
	// Color is the flag --color: auto, always or never.
	Color string
}

// The colours of the commands' own words.
const (
	ColorRed    = "\x1b[31m"
	ColorGreen  = "\x1b[32m"
	ColorYellow = "\x1b[33m"
	ColorBold   = "\x1b[1m"
	ColorReset  = "\x1b[0m"
)

// Colors reports whether output to w may have colours.
func (c *Console) Colors(w io.Writer) bool {
	switch c.Color {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(w)
}

// Paint colours a text for w, if w may have colours.
func (c *Console) Paint(w io.Writer, color, text string) string {
	if text == "" || !c.Colors(w) {
		return text
	}
	return color + text + ColorReset
}

// Interactive reports whether questions can be asked.
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

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// News prints a line of news to standard error.
func (c *Console) News(format string, args ...any) { fmt.Fprintf(c.Err, format+"\n", args...) }
