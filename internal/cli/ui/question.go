// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Confirm asks a question. Only "yes" confirms.
func (c *Console) Confirm(question string) error {
	return c.confirm(question, "Only 'yes' will be accepted.", "yes")
}

// MustConfirmName asks for the name of what a command works on, because a yes is typed too fast. Without a
// terminal the flag has to confirm it.
func (c *Console) MustConfirmName(says, name, flag string) error {
	if !c.Interactive() {
		return Exitf(ExitUsage, "%s\nThere is no terminal to ask on; confirm with %s", says, flag)
	}
	return c.confirm(says, "Enter the name, "+name+", to confirm.", name)
}

// confirm asks until the end of a line; only one answer confirms.
func (c *Console) confirm(question, how, want string) error {
	fmt.Fprintf(c.Err, "\n%s\n  %s\n\n  %s ", c.Paint(c.Err, ColorBold, question), how, c.Paint(c.Err, ColorBold, "Enter a value:"))
	answer, err := c.readLine()
	fmt.Fprintln(c.Err)
	if err != nil {
		return err
	}
	if strings.TrimSpace(answer) != want {
		return Exitf(ExitWaiting, "not confirmed; nothing was changed")
	}
	return nil
}

func (c *Console) readLine() (string, error) { return c.ReadLine(bufio.NewReader(c.In)) }

// ReadLine reads a line with its end, until Ctrl-C. It is empty at the end of the input. The reader keeps what follows
// the line, for the next one.
func (c *Console) ReadLine(in *bufio.Reader) (string, error) {
	type line struct {
		text string
		err  error
	}
	typed := make(chan line, 1)
	go func() {
		text, err := in.ReadString('\n')
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return "", fmt.Errorf("read the answer: %w", l.err)
		}
		return l.text, nil
	case <-c.Interrupted:
		return "", context.Canceled
	}
}

// MustConfirm asks, unless yes is set. Without a terminal it fails.
func (c *Console) MustConfirm(yes bool, question string) error {
	switch {
	case yes:
		return nil
	case !c.Interactive():
		return Exitf(ExitUsage, "%s\nThere is no terminal to ask on; confirm with --yes", question)
	}
	return c.Confirm(question)
}
