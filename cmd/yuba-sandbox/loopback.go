// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// startLoopback enables the loopback interface, the only one in a new network namespace. Providers
// need it to talk to tofu.
func startLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("start the loopback interface: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // it was only asked through
	request, err := unix.NewIfreq("lo")
	if err == nil {
		request.SetUint16(unix.IFF_UP)
		err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
	}
	if err != nil {
		return fmt.Errorf("start the loopback interface: %w", err)
	}
	return nil
}
