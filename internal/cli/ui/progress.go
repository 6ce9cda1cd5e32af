// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"time"
)

// Progress shows a number of bytes on a terminal.
type Progress struct {
	to    *Console
	label string
	on    bool
	n     int64
	shown time.Time
}

const progressEvery = 200 * time.Millisecond

// NewProgress starts a progress, which is only shown on terminals.
func (c *Console) NewProgress(label string) *Progress {
	return &Progress{to: c, label: label, on: IsTerminal(c.Err)}
}

// Write counts bytes.
func (p *Progress) Write(b []byte) (int, error) {
	p.Reach(p.n + int64(len(b)))
	return len(b), nil
}

// Reach shows that n bytes are done.
func (p *Progress) Reach(n int64) {
	p.n = n
	if p.on && time.Since(p.shown) > progressEvery {
		p.shown = time.Now()
		fmt.Fprintf(p.to.Err, "\r%s … %s", p.label, Size(p.n))
	}
}

// Total is how many bytes are done.
func (p *Progress) Total() int64 { return p.n }

// End removes the progress from the terminal.
func (p *Progress) End() {
	if p.on {
		fmt.Fprint(p.to.Err, "\r\x1b[K")
	}
}
