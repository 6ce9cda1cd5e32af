// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Relay is the program yuba-network, which connects a program's own network to that of the machine,
// as far as it allows. It is beside the sandbox.
type Relay struct {
	// Allow are the entries of its list, Forwards the loopback addresses with ports in it.
	Allow, Forwards []string
	// Report gets a line for each refusal, and one if the relay ends too early.
	Report *os.File
	// PID is set when it starts.
	PID int
}

// The limits of a relay, far above what its own bounds let it use.
const (
	relayFiles  = 4096
	relayData   = 1 << 30
	relayOutput = 16 << 20
	relayMemory = "GOMEMLIMIT=256MiB"
)

// args are those of the sandbox of the program.
func (r *Relay) args() []string {
	if r == nil {
		return nil
	}
	args := []string{"-tunnel"}
	for _, to := range r.Forwards {
		args = append(args, "-forward", to)
	}
	return args
}

// arguments are the relay's own.
func (r *Relay) arguments() []string {
	var args []string
	for _, entry := range r.Allow {
		args = append(args, "-allow", entry)
	}
	return args
}

// relay is the relay's program.
func (w Walls) relay() string { return filepath.Join(filepath.Dir(w.Sandbox), "yuba-network") }

// relayCell is what the relay of a cell's program may use: the network, and the resolver's
// configuration. It reads packets of the program, so it is confined as much.
func (w Walls) relayCell(c Cell) Cell {
	return Cell{
		User: c.User, Dir: "/", Environment: []string{relayMemory}, Executable: []string{w.relay()},
		Readable:   []string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"},
		Limits:     Limits{Files: relayFiles, DataBytes: relayData, FileBytes: relayOutput},
		Background: c.Background,
	}
}

// StartRelay starts the relay of a program that is about to start, if its cell has one. Call done
// once the program has started, or could not. The relay ends with the program, and not with this
// process.
func (w Walls) StartRelay(c Cell, program *exec.Cmd) (done func(), err error) {
	if c.Relay == nil {
		return func() {}, nil
	}
	if !w.Alone() || !c.NoNetwork {
		return nil, errors.New("start the relay of the network: the program has no network of its own, because this machine has no namespaces")
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("create a socket for the relay: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "relay"), os.NewFile(uintptr(pair[1]), "relay") //nolint:gosec // descriptors are not negative
	defer theirs.Close()                                                                         //nolint:errcheck // the relay has its own
	relay := w.Command(context.Background(), w.relayCell(c), w.relay(), c.Relay.arguments()...)
	relay.Stdin = theirs
	watch := watchRelay(relay, c.Relay.Report)
	if err := relay.Start(); err != nil {
		watch.close()
		return nil, errors.Join(fmt.Errorf("start the relay of the network: %w", err), ours.Close())
	}
	c.Relay.PID = relay.Process.Pid
	go watch.await(relay)
	program.ExtraFiles = append(program.ExtraFiles, ours) // the first, descriptor 3
	return func() { ours.Close() }, nil                   //nolint:errcheck // it has no content
}

// ProbeTunnel reports why programs cannot have a network of their own with a relay on this machine.
func (w Walls) ProbeTunnel(ctx context.Context) error {
	if !w.Alone() {
		return errors.New("it requires namespaces, which this machine does not support: " + w.whyMissing("namespaces"))
	}
	if _, err := os.Stat(w.relay()); err != nil {
		return fmt.Errorf("find yuba-network, which is installed with yuba-sandbox: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cell := Cell{Dir: "/", NoNetwork: true, Relay: &Relay{}}
	if w.Users {
		cell.User = probeUser
	}
	cmd := w.command(ctx, cell, "-probe")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	text := strings.TrimPrefix(strings.TrimSpace(string(out)), "yuba-sandbox: ")
	if text == "" {
		text = err.Error()
	}
	return errors.New(text + ". Yuba's user must be able to open /dev/net/tun: load the module tun, allow the device for the service or container, and give the device the mode 0666, as udev does")
}

// whyMissing is the reason for a missing wall.
func (w Walls) whyMissing(wall string) string {
	for _, m := range w.Missing {
		if m.Wall == wall {
			return m.Why
		}
	}
	return "it was not tried"
}
