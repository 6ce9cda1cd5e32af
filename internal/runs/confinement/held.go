// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Held identifies one process, even after the kernel reused its number: by a descriptor or, without
// one (Linux before 5.3, some containers, too many open files), by its start time.
type Held struct {
	pid, fd int
	started uint64
}

// Hold identifies a living process. Callers check its properties after Hold, because the number may
// have been another's before.
func Hold(pid int) (h Held, alive bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return Held{}, false
	}
	if err != nil {
		fd = -1
	}
	_, started := originOf(pid)
	h = Held{pid, fd, started}
	if h.Ended() {
		h.Release()
		return Held{}, false
	}
	return h, true
}

// Release closes the descriptor.
func (h Held) Release() {
	if h.fd >= 0 {
		unix.Close(h.fd) //nolint:errcheck // it was only signalled through
	}
}

// Ended reports whether it has ended, even if its parent has not waited for it yet.
func (h Held) Ended() bool {
	if h.fd >= 0 {
		return h.poll(0)
	}
	_, started := originOf(h.pid)
	return started == math.MaxUint64 || started != h.started || isDead(h.pid)
}

// Signal signals the process, if it has not ended.
func (h Held) Signal(s unix.Signal) {
	if h.fd >= 0 {
		err := unix.PidfdSendSignal(h.fd, s, nil, 0)
		if err == nil || errors.Is(err, unix.ESRCH) {
			return
		}
	}
	if !h.Ended() {
		_ = unix.Kill(h.pid, s)
	}
}

// lookAgain is the interval of polling.
const lookAgain = 10 * time.Millisecond

// Await waits for its end.
func (h Held) Await(patience time.Duration) {
	if h.fd >= 0 {
		h.poll(patience)
		return
	}
	for deadline := time.Now().Add(patience); !h.Ended() && time.Now().Before(deadline); {
		time.Sleep(lookAgain)
	}
}

// poll reports whether it ends in time: its descriptor becomes readable.
func (h Held) poll(patience time.Duration) bool {
	for deadline := time.Now().Add(patience); ; {
		left := max(0, time.Until(deadline))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}, int(left.Milliseconds())) //nolint:gosec // descriptors are small
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n > 0
		}
	}
}

// isDead reports whether a process is gone or a zombie without further threads.
func isDead(pid int) bool {
	state, fields, found := statOf(pid)
	const atThreads = 16
	ended := state == "Z" || state == "X"
	return !found || ended && (len(fields) <= atThreads || fields[atThreads] == "0" || fields[atThreads] == "1")
}

// statOf reads a process's state and the fields after it.
func statOf(pid int) (state string, fields []string, found bool) {
	text, err := patiently(func() ([]byte, error) { return os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) })
	if err != nil {
		return "", nil, false
	}
	return parseStat(string(text))
}

// patiently retries while too many files are open: a wrong "nothing is left" would be worse.
func patiently[T any](do func() (T, error)) (T, error) {
	for {
		answer, err := do()
		if !errors.Is(err, unix.EMFILE) && !errors.Is(err, unix.ENFILE) {
			return answer, err
		}
		time.Sleep(lookAgain)
	}
}
