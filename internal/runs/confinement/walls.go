// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Namespaces is how a program gets namespaces of its own.
type Namespaces string

// The values are yuba-sandbox's.
const (
	// Shared: the program is among the machine's processes.
	Shared Namespaces = ""
	// Plain needs the right to make namespaces (CAP_SYS_ADMIN).
	Plain Namespaces = "plain"
	// WithUser adds a user namespace, which needs no rights if the kernel allows it.
	WithUser Namespaces = "user"
)

// Walls separate a program from the machine.
type Walls struct {
	// Sandbox is the program that builds them.
	Sandbox string
	// Namespaces also give a file tree and shared memory of its own.
	Namespaces Namespaces
	// Users is true if each working directory has a user of its own, other than the server's.
	Users bool
	// Root is true if the server's user is root.
	Root bool
	// Landlock is the kernel's version of it, Filter whether system calls are filtered.
	Landlock int
	Filter   bool
	// Missing are the walls that this machine does not support.
	Missing []Missing
}

// Missing is a wall that this machine does not support.
type Missing struct {
	// Means says what a program can do without the wall.
	Wall, Why, Means string
}

func (m Missing) String() string { return m.Wall + ": " + m.Why + ". " + m.Means }

// Complete reports whether no wall is missing.
func (w Walls) Complete() bool { return len(w.Missing) == 0 }

// Alone reports whether programs have namespaces of their own.
func (w Walls) Alone() bool { return w.Namespaces != Shared }

// Summary names the walls.
func (w Walls) Summary() string {
	var parts []string
	if w.Alone() {
		parts = append(parts, "namespaces")
	}
	if w.Users {
		parts = append(parts, "a user per stack")
	}
	if w.Filter {
		parts = append(parts, "seccomp")
	}
	if w.Landlock > 0 {
		parts = append(parts, "Landlock "+strconv.Itoa(w.Landlock))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// probeTimeout limits all attempts together.
const probeTimeout = 30 * time.Second

// probePause is the time between two attempts of one wall.
const probePause = 200 * time.Millisecond

// Probe finds the strongest walls that this machine supports. With users, but without file trees,
// of their own, programs must be able to pass dirs. It fails if the sandbox cannot start at all,
// because then nothing closes inherited files.
func Probe(ctx context.Context, sandbox string, dirs ...string) (Walls, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	found := Walls{Sandbox: sandbox, Root: os.Geteuid() == 0}
	var whyShared, whyNoUsers, last error
	for _, try := range found.attempts() {
		tried, err := try.probeTwice(ctx)
		if err == nil && try.Users && !try.Alone() { // their users have to come to their directories
			if whyNoUsers = pass(dirs); whyNoUsers != nil {
				continue
			}
		}
		if err == nil {
			tried.name(whyShared, whyNoUsers)
			return tried, nil
		}
		if last = err; ctx.Err() != nil || errors.Is(err, os.ErrNotExist) {
			break
		}
		if try.Alone() && whyShared == nil {
			whyShared = err
		}
		if try.Users && whyNoUsers == nil {
			whyNoUsers = err
		}
	}
	return Walls{}, fmt.Errorf("start the sandbox %s: %w", sandbox, last)
}

// attempts are the walls to try, the strongest first.
func (w Walls) attempts() []Walls {
	var all []Walls
	add := func(n Namespaces, users bool) {
		try := w
		try.Namespaces, try.Users = n, users
		all = append(all, try)
	}
	if w.Root {
		add(Plain, true)
		add(WithUser, true)
		add(Plain, false)
	}
	add(WithUser, false)
	if w.Root {
		add(Shared, true)
	}
	add(Shared, false)
	return all
}

// probeTwice repeats a failed attempt: a momentary shortage must not weaken a server's walls.
func (w Walls) probeTwice(ctx context.Context) (Walls, error) {
	tried, err := w.probe(ctx)
	if err == nil || ctx.Err() != nil || errors.Is(err, os.ErrNotExist) {
		return tried, err
	}
	select {
	case <-ctx.Done():
		return tried, err
	case <-time.After(probePause):
	}
	return w.probe(ctx)
}

// probe has the sandbox build these walls around nothing.
func (w Walls) probe(ctx context.Context) (Walls, error) {
	cell := Cell{Dir: "/", Mark: Mark("probe")}
	if w.Users {
		cell.User = probeUser
	}
	cmd := w.command(ctx, cell, "-probe")
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		if text := strings.TrimPrefix(strings.TrimSpace(problem.String()), "yuba-sandbox: "); text != "" {
			return w, errors.New(text)
		}
		return w, err
	}
	lines := bufio.NewScanner(&out)
	for lines.Scan() {
		switch name, value, _ := strings.Cut(lines.Text(), " "); name {
		case "landlock":
			version, err := strconv.Atoi(value)
			if err != nil {
				return w, fmt.Errorf("it answers %q", lines.Text())
			}
			w.Landlock = version
		case "filter":
			w.Filter = value == "1"
		}
	}
	return w, nil
}

// name lists the missing walls.
func (w *Walls) name(whyShared, whyNoUsers error) {
	if !w.Alone() {
		means := "Programs see names, sizes and times of files elsewhere, and processes that they leave running are found only by their mark"
		if !w.Users {
			means += ". They can change modes and times of all files of the server's user: a program can stop the server, spoil the runs of other stacks, and open its files to others"
		}
		w.Missing = append(w.Missing, Missing{"namespaces", reason(whyShared), means})
	}
	if w.Root && !w.Users {
		w.Missing = append(w.Missing, Missing{"users", reason(whyNoUsers), "Programs of all stacks run as the server's user, root, though without its rights"})
	}
	if !w.Filter {
		w.Missing = append(w.Missing, Missing{"seccomp", "this kernel cannot filter system calls, or Yuba has no filter for this architecture", "Programs can use every part of the kernel"})
	}
	if w.Landlock == 0 {
		means := "Only their file tree keeps programs from other files"
		if !w.Alone() {
			means = "Programs can read and write what their user can. Run only programs that you trust"
		}
		w.Missing = append(w.Missing, Missing{"Landlock", "this kernel has no Landlock (Linux 5.13 or newer has, where it is among the security modules)", means})
		return
	}
	for _, part := range landlockParts {
		if w.Landlock < part.since && !(part.shared && w.Alone()) {
			w.Missing = append(w.Missing, Missing{part.wall, fmt.Sprintf("this kernel's Landlock, of version %d, cannot refuse it; Linux %s or newer can", w.Landlock, part.linux), part.means})
		}
	}
}

// landlockParts are what later versions of Landlock refuse, and namespaces, too, if shared. See
// https://docs.kernel.org/userspace-api/landlock.html
var landlockParts = []struct {
	since              int
	linux, wall, means string
	shared             bool
}{
	{3, "6.2", "Landlock for truncation", "Programs can empty files that belong to their user, the server's among them", true},
	{4, "6.7", "Landlock for ports", "Programs that have a network can listen on any free port, also on the server's while that is restarted", false},
	{6, "6.12", "Landlock for signals", "Programs can signal processes of their user, the server among them", true},
	{6, "6.12", "Landlock for abstract sockets", "Programs that have a network can connect to sockets without a path that other programs of this machine listen on", false},
	{9, "7.1", "Landlock for sockets", "Programs can connect to every Unix socket that their user may use. Through that of a container engine, or of a session of the user, they leave these walls", true},
}

func reason(err error) string {
	if err == nil {
		return "it was not tried"
	}
	return strings.TrimSuffix(err.Error(), ".")
}

// Hides reports whether programs cannot reach other files than theirs.
func (w Walls) Hides() bool { return w.Alone() || w.Landlock > 0 }

// signalsRefused is the version of Landlock from which programs cannot signal others of their user.
const signalsRefused = 6

// LeaveNothing reports whether nothing of a run can outlive it but files in its working directory:
// its processes end with it or are found by their mark, which the filter keeps them from changing.
func (w Walls) LeaveNothing() bool { return w.Alone() || w.Filter && w.Landlock >= signalsRefused }
