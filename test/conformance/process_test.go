// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// installed gives the test binary another name, under which it acts as a program under test.
func installed(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(programs, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A hard link instead of a copy of 200 MB.
	if err := os.Link(self, path); err != nil {
		if err := os.Symlink(self, path); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// installBeside builds the programs that yuba expects beside it.
func installBeside(t *testing.T) {
	t.Helper()
	if err := tofutest.BuildBeside(programs); err != nil {
		t.Fatal(err)
	}
}

// process is a program under test, with its log.
type process struct {
	name string
	cmd  *exec.Cmd
	// done is closed when the program has ended, and ended is its error.
	done  chan struct{}
	ended error

	log proctest.Log
}

// tail is the end of the log.
func (p *process) tail() string {
	return p.name + ":\n" + p.log.Tail()
}

// start starts a program and stops it when the test ends.
func start(t *testing.T, program string, args ...string) *process {
	t.Helper()
	p := &process{name: program, done: make(chan struct{}), cmd: exec.Command(installed(t, program), args...)}
	p.cmd.Stderr = &p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		// Read to the end before Wait, which closes the pipe.
		_, _ = io.Copy(&p.log, bufio.NewReader(out)) //nolint:errcheck // Wait reports the end
		p.ended = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() { p.stop(t) })
	return p
}

// stop ends a program, like a service manager.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); errors.Is(err, os.ErrProcessDone) {
		return
	}
	select {
	case <-p.done:
	case <-time.After(*patience):
		t.Errorf("%s does not end\n%s", p.name, p.tail())
		p.cmd.Process.Kill() //nolint:errcheck // it is given up
		<-p.done
	}
}

// said waits until the program has printed a line that begins with the words.
func (p *process) said(t *testing.T, words string) {
	t.Helper()
	p.until(t, "says "+strconv.Quote(words), func() error {
		if strings.Contains("\n"+p.log.Text(), "\n"+words) {
			return nil
		}
		return errors.New("it has not said it")
	})
}

// until retries until ask returns no error, or the program has ended.
func (p *process) until(t *testing.T, sentence string, ask func() error) {
	t.Helper()
	eventually(t, p.name+" "+sentence, func() error {
		select {
		case <-p.done:
			t.Fatalf("%s ended (%v) before it %s\n%s", p.name, p.ended, sentence, p.tail())
		default:
		}
		return ask()
	}, p.tail)
}

// eventually retries until ask returns no error.
func eventually(t *testing.T, sentence string, ask func() error, details ...func() string) {
	t.Helper()
	tick, deadline := time.NewTicker(50*time.Millisecond), time.Now().Add(*patience)
	defer tick.Stop()
	for err := ask(); err != nil; err = ask() {
		if time.Now().After(deadline) {
			var more strings.Builder
			for _, d := range details {
				more.WriteString("\n" + d())
			}
			t.Fatalf("timed out waiting until %s: %v%s", sentence, err, more.String())
		}
		<-tick.C
	}
}

// freeAddress finds an unused port on loopback.
func freeAddress(t *testing.T) (address, port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // only its number is wanted
	address = l.Addr().String()
	_, port, err = net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return address, port
}
