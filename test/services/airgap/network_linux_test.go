// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package airgap

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// island is a network namespace that has only a loopback interface.
type island struct{ own, outside *os.File }

// network opens the namespace of the calling thread.
func network() (*os.File, error) { return os.Open("/proc/thread-self/ns/net") }

func newIsland(t *testing.T) *island {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	outside, err := network()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outside.Close() }) //nolint:errcheck // it was only read
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatalf("make a network namespace: %v. Run this test as root", err)
	}
	own, err := network()
	if err == nil {
		err = loopback()
	}
	leave(outside)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { own.Close() }) //nolint:errcheck // it was only read
	return &island{own, outside}
}

// loopback sets the interface up, as no namespace does by itself.
func loopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket) //nolint:errcheck // it was only asked
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("set up the loopback interface: %w", err)
	}
	return nil
}

// leave returns the calling thread to a namespace.
func leave(to *os.File) {
	if err := unix.Setns(int(to.Fd()), unix.CLONE_NEWNET); err != nil {
		panic(err) // the thread would run other tests in the wrong network
	}
}

// within calls a function in the namespace: sockets that it opens and processes that it starts stay there.
func (i *island) within(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	leave(i.own)
	defer leave(i.outside)
	f()
}
