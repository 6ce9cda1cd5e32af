// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
)

// watchLimit ends the process when a call exceeds its CPU time. A template that never ends cannot
// prevent it.
func watchLimit() {
	exceeded := make(chan os.Signal, 1)
	signal.Notify(exceeded, syscall.SIGXCPU)
	go func() {
		<-exceeded
		fmt.Fprintln(os.Stderr, wire.OutOfProcessor)
		os.Exit(1)
	}()
}

// limitCall limits the CPU time of the next call.
func limitCall(most time.Duration) error {
	if most <= 0 {
		most = wire.MaxProcessor
	}
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return err
	}
	seconds := uint64(used.Utime.Sec+used.Stime.Sec) + uint64(most.Seconds()) + 1 //nolint:gosec // times are positive
	return unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: unix.RLIM_INFINITY})
}

// fromServer is the connection from the server. Its end is that of the process, whatever it does.
type fromServer struct{ io.ReadCloser }

func (f fromServer) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if err != nil {
		os.Exit(1)
	}
	return n, nil
}
