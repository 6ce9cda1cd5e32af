// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// report is what a server saw of an attack on it.
type report struct {
	Walls    Walls
	Outcomes []outcome
	Problem  string
}

// The limits of hostile programs.
const (
	mostProcesses = 200
	mostMemory    = 1 << 30
)

// serve plays the server: it finds out what walls stand, lets a hostile program loose on itself and
// another stack, and prints its report.
func serve(s scene) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	walls, err := Probe(ctx, s.Sandbox, s.Dir)
	if err != nil {
		return err
	}
	v, end, err := makeVictim(s)
	if err != nil {
		return fmt.Errorf("make a victim: %w", err)
	}
	defer end()
	cell, err := makeCell(s, walls, "attacker")
	if err != nil {
		return err
	}
	s.Victim = v
	cmd := walls.Command(ctx, cell, s.Self)
	cmd.Env = append(s.environment("attack"), "HOME="+walls.HomeOf(cell), "TMPDIR="+walls.TempOf(cell))
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	result := report{Walls: walls}
	running, err := Start(cmd)
	if err != nil {
		return err
	}
	if err := running.Wait(10 * time.Second); err != nil {
		result.Problem = err.Error() + "\n"
	}
	result.Problem += problem.String()
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		var o outcome
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
		result.Outcomes = append(result.Outcomes, o)
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// enter finds the walls of a scene and makes the cell of its program.
func enter(ctx context.Context, s scene, name string) (Walls, Cell, error) {
	walls, err := Probe(ctx, s.Sandbox, s.Dir)
	if err != nil {
		return walls, Cell{}, err
	}
	cell, err := makeCell(s, walls, name)
	return walls, cell, err
}

// awaitThat returns when a condition holds, or an error after 20 seconds.
func awaitThat(condition string, holds func() bool) error {
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("after 20 seconds still not: %s", condition)
		}
	}
	return nil
}

// exists says whether a file exists.
func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// makeCell makes the directories of a program, and what it gets.
func makeCell(s scene, walls Walls, name string) (Cell, error) {
	base := filepath.Join(s.Dir, name)
	cell := Cell{Dir: base + "/src", Home: base + "/home", Temp: base + "/tmp", Writable: []string{base + "/src", "/dev/null", "/dev/full"},
		Executable: []string{s.Self, "/usr", "/lib", "/lib64", "/bin", "/sbin"}, Readable: []string{"/etc/passwd", "/etc/ld.so.cache", "/dev/urandom"},
		Mark: Mark(name), Limits: Limits{Processes: mostProcesses, Files: 500, FileBytes: 64 << 20, DataBytes: mostMemory}}
	if !walls.Alone() && !walls.Users {
		cell.Limits.Processes = 0 // the test's own user has some
	}
	mode := os.FileMode(0o700)
	if walls.Users {
		users := &Users{File: filepath.Join(s.Dir, "users")}
		var err error
		if cell.User, err = users.Next(); err != nil {
			return cell, err
		}
		mode = 0o711
	}
	if err := os.Mkdir(base, mode); err != nil {
		return cell, err
	}
	for _, dir := range []string{cell.Dir, cell.Home, cell.Temp, cell.Dir + "/own.d"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return cell, err
		}
		if walls.Users {
			if err := os.Chown(dir, cell.User, cell.User); err != nil {
				return cell, err
			}
		}
	}
	err := os.WriteFile(cell.Dir+"/own", []byte("x"), 0o644)
	if err == nil && walls.Users {
		err = os.Chown(cell.Dir+"/own", cell.User, cell.User)
	}
	return cell, err
}

// makeVictim makes what is attacked: a stack's directory, and what a server has in the kernel. In
// modes with users of their own it is the server's; that it belongs to neither is what counts.
func makeVictim(s scene) (v victim, end func(), err error) {
	v = victim{Dir: filepath.Join(s.Dir, "victim"), Server: os.Getpid()}
	v.File, v.Script, v.Socket, v.Secret = v.Dir+"/file", v.Dir+"/script", v.Dir+"/socket", s.Dir+"/kubeconfig"
	v.Abstract = fmt.Sprintf("@yuba-test-%d", os.Getpid())
	if err := os.Mkdir(v.Dir, 0o700); err != nil {
		return v, nil, err
	}
	for name, mode := range map[string]os.FileMode{v.File: 0o600, v.Script: 0o700, v.Secret: 0o600, v.Dir + "/spare1": 0o600, v.Dir + "/spare2": 0o600, v.Dir + "/spare3": 0o600} {
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"), mode); err != nil {
			return v, nil, err
		}
	}
	var listeners []net.Listener
	for _, address := range [][2]string{{"unix", v.Socket}, {"unix", v.Abstract}, {"tcp", "127.0.0.1:0"}} {
		listener, err := net.Listen(address[0], address[1])
		if err != nil {
			return v, nil, err
		}
		listeners = append(listeners, listener)
	}
	// A second port, that of a server that is down at the moment.
	down, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		return v, nil, err
	}
	v.Port = listeners[2].Addr().(*net.TCPAddr).Port //nolint:forcetypeassert,errcheck // of a TCP listener
	v.Down = down.Addr().(*net.TCPAddr).Port         //nolint:forcetypeassert,errcheck // of a TCP listener
	if err := down.Close(); err != nil {
		return v, nil, err
	}
	v.Segment, v.Queue = os.Getpid()|1<<28, os.Getpid()|1<<28
	segment, err := unix.SysvShmGet(v.Segment, 4096, unix.IPC_CREAT|0o666)
	if err != nil {
		return v, nil, err
	}
	queue, _, errno := unix.Syscall(unix.SYS_MSGGET, uintptr(v.Queue), unix.IPC_CREAT|0o666, 0)
	if errno != 0 {
		return v, nil, errno
	}
	// A kernel or a container may have no keys; then there are none to read.
	v.Key, _ = unix.AddKey("user", fmt.Sprint("yuba-test-", os.Getpid()), []byte("loot"), unix.KEY_SPEC_USER_KEYRING)
	return v, func() {
		_, _ = unix.SysvShmCtl(segment, unix.IPC_RMID, nil)
		_, _, _ = unix.Syscall(unix.SYS_MSGCTL, queue, unix.IPC_RMID, 0)
		for _, listener := range listeners {
			listener.Close()
		}
	}, nil
}

// manyProcesses starts processes without end.
func manyProcesses(victim) error {
	var all []*exec.Cmd
	defer func() {
		for _, cmd := range all {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	for range mostProcesses + 50 {
		cmd := exec.Command("/bin/sleep", "100")
		if err := cmd.Start(); err != nil {
			return err
		}
		all = append(all, cmd)
	}
	return nil
}

// muchMemory wants more memory than there may be; the kernel refuses it to a child, which the Go
// runtime then ends.
func muchMemory(victim) error {
	memory, err := unix.Mmap(-1, 0, mostMemory+1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	return errors.Join(unix.Munmap(memory))
}
