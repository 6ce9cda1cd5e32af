// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// handed is what the sandbox hands over.
type handed struct {
	tunnel, program int
	// listeners are the sockets of forwards, by their number in the list. Not all need to exist.
	listeners map[int]net.Listener
}

// errNoProgram means that the sandbox ended before it started the program.
var errNoProgram = errors.New("the sandbox ended")

// receive waits for what the sandbox hands over: the tunnel, a descriptor of the program, and the
// listening sockets, whose numbers are the bytes of the message.
func receive(control int) (h handed, err error) {
	const most = 2 + 64
	message, rights := make([]byte, most), make([]byte, unix.CmsgSpace(4*most))
	n, size, _, _, err := unix.Recvmsg(control, message, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return h, fmt.Errorf("receive the tunnel: %w", err)
	}
	if n == 0 {
		return h, errNoProgram
	}
	parsed, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil || len(parsed) != 1 {
		return h, fmt.Errorf("receive the tunnel: %d messages (%v)", len(parsed), err)
	}
	fds, err := unix.ParseUnixRights(&parsed[0])
	if err != nil || len(fds) != n+1 {
		return h, fmt.Errorf("receive the tunnel: %d descriptors for %d bytes (%v)", len(fds), n, err)
	}
	h = handed{tunnel: fds[0], program: fds[1], listeners: map[int]net.Listener{}}
	for i, fd := range fds[2:] {
		file := os.NewFile(uintptr(fd), "forward") //nolint:gosec // descriptors are not negative
		l, err := net.FileListener(file)
		if err := errors.Join(err, file.Close()); err != nil {
			return h, fmt.Errorf("use a listening socket: %w", err)
		}
		h.listeners[int(message[1+i])] = l
	}
	return h, nil
}

// ready tells the sandbox that the program may start.
func ready(control int) error {
	if _, err := unix.Write(control, []byte{1}); err != nil && !errors.Is(err, unix.EPIPE) {
		return fmt.Errorf("answer the sandbox: %w", err)
	}
	return nil
}

// await returns when the program has ended.
func await(program int) {
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(program), Events: unix.POLLIN}}, -1) //nolint:gosec // descriptors are small
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
