// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package proctest

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Log collects the log of a server. It can be read while the server runs.
type Log struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write adds to it.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// Text is all of it.
func (l *Log) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// Count is how often it contains a text.
func (l *Log) Count(text string) int { return strings.Count(l.Text(), text) }

// Tail is its end, for failures.
func (l *Log) Tail() string {
	text := l.Text()
	return text[max(0, len(text)-8000):]
}

// FreeAddress finds a free address on loopback, for servers that are restarted there.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close() //nolint:errcheck // only its number is wanted
	return l.Addr().String(), nil
}

// Start starts a server and waits until a line of its standard output begins with some words. It
// kills a server that does not print them in time.
func Start(cmd *exec.Cmd, words string, log *Log, patience time.Duration) error {
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w. Build it:\n    make build", cmd.Path, err)
	}
	ready := make(chan bool, 1)
	go func() {
		defer close(ready)
		said := false
		for lines := bufio.NewScanner(out); lines.Scan(); { // to its end, so that the server never blocks
			if !said && strings.HasPrefix(lines.Text(), words) {
				said = true
				ready <- true
			}
		}
	}()
	select {
	case ok := <-ready:
		if !ok {
			cmd.Wait() //nolint:errcheck // its log says why
			return fmt.Errorf("%s ended:\n%s", cmd.Path, log.Tail())
		}
	case <-time.After(patience):
		cmd.Process.Kill() //nolint:errcheck // it is given up
		return fmt.Errorf("%s does not say %q after %s:\n%s", cmd.Path, words, patience, log.Tail())
	}
	return nil
}
