// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"time"
)

// Progress tells on a terminal how many bytes have passed.
type Progress struct {
	to    *Console
	label string
	on    bool
	n     int64
	shown time.Time
}

const progressEvery = 200 * time.Millisecond

// NewProgress tells on the terminal, if there is one, how far something is.
func (c *Console) NewProgress(label string) *Progress {
	return &Progress{to: c, label: label, on: IsTerminal(c.Err)}
}

// Write counts bytes that pass.
func (p *Progress) Write(b []byte) (int, error) {
	p.Reach(p.n + int64(len(b)))
	return len(b), nil
}

// Reach tells that n bytes have passed by now.
func (p *Progress) Reach(n int64) {
	p.n = n
	if p.on && time.Since(p.shown) > progressEvery {
		p.shown = time.Now()
		fmt.Fprintf(p.to.Err, "\r%s … %s", p.label, Size(p.n))
	}
}

// End removes what was shown.
func (p *Progress) End() {
	if p.on {
		fmt.Fprint(p.to.Err, "\r\x1b[K")
	}
}
