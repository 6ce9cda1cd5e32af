// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadLineKeepsWhatFollows(t *testing.T) {
	c := &Console{}
	in := bufio.NewReader(strings.NewReader("one\n\nlast"))
	for _, want := range []string{"one\n", "\n", "last", "", ""} {
		if got, err := c.ReadLine(in); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}

// A terminal gives nothing until its user presses Enter.
func TestCtrlCEndsReadLine(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close()
	interrupted := make(chan struct{})
	close(interrupted)
	if line, err := (&Console{Interrupted: interrupted}).ReadLine(bufio.NewReader(in)); line != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("got %q, %v", line, err)
	}
}
