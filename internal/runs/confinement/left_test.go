// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	parts["leave"], parts["daemon"], parts["leaving server"], parts["ended server"] = leave, daemon, leavingServer, endedServer
}

// ways are those in which a program leaves something running.
var ways = []string{"plain", "session", "grandchild", "bare", "deaf", "stopped", "many"}

// leave starts a daemon in each way and ends. The daemons keep its output open as long as they
// live.
func leave(s scene) error {
	for _, way := range ways {
		cmd := exec.Command(s.Self)
		s.Next = way
		cmd.Env, cmd.Stdout = s.environment("daemon"), os.Stdout
		switch way {
		case "session", "grandchild":
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		if err := awaitThat("the daemon "+way+" has begun", func() bool { return exists("alive-" + way) }); err != nil {
			return err
		}
	}
	return nil
}

// daemon lives until it is killed.
func daemon(s scene) error {
	switch s.Next {
	case "grandchild":
		s.Next = "grandchild of init"
		cmd := exec.Command(s.Self)
		cmd.Env, cmd.Stdout = s.environment("daemon"), os.Stdout
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd.Start()
	case "bare": // nothing in its environment or its arguments tells where it came from
		return syscall.Exec("/bin/sh", []string{"sh", "-c", "echo x >alive-bare; while :; do sleep 1000; done"}, nil)
	case "deaf":
		signal.Ignore(unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT)
	case "many":
		for range 20 {
			cmd := exec.Command("/bin/sh", "-c", "(sleep 1000 & (sleep 1000 & sleep 1000))")
			cmd.Stdout = os.Stdout
			if err := cmd.Start(); err != nil {
				return err
			}
		}
	}
	if err := os.WriteFile("alive-"+strings.TrimSuffix(s.Next, " of init"), nil, 0o600); err != nil {
		return err
	}
	if s.Next == "stopped" {
		_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
	}
	for {
		time.Sleep(time.Hour)
	}
}

// leftReport is what a server found after a program had ended.
type leftReport struct {
	Walls Walls
	// Ended are the processes that had to be ended, Alive those that are still there.
	Ended int
	Alive []string
	// Held is why the output did not end: a process that still has it open. Empty when it ended.
	Held string
}

func leavingServer(s scene) error { return leftServer(s, false) }
func endedServer(s scene) error   { return leftServer(s, true) }

// leftServer runs a program that leaves daemons, ends what is left and looks again. With killed the
// program is killed itself before it can end.
func leftServer(s scene, killed bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	walls, cell, err := enter(ctx, s, "leaver")
	if err != nil {
		return err
	}
	cmd := walls.Command(ctx, cell, s.Self)
	part := "leave"
	if killed {
		part, s.Next = "daemon", "many"
	}
	cmd.Env = s.environment(part)
	var problem bytes.Buffer
	cmd.Stderr = &problem
	cmd.WaitDelay = 100 * time.Millisecond // they may hold it
	output, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer output.Close()
	cmd.Stdout = theirs
	if err := errors.Join(cmd.Start(), theirs.Close()); err != nil {
		return err
	}
	if killed {
		if err := awaitThat("20 processes work", func() bool { return len(workingIn(cell.Dir)) >= 20 }); err != nil {
			return err
		}
		if err := cmd.Process.Kill(); err != nil {
			return err
		}
	}
	if err := cmd.Wait(); err != nil && !errors.Is(err, exec.ErrWaitDelay) && !killed {
		return fmt.Errorf("%w: %s", err, problem.String())
	}
	report := leftReport{Walls: walls}
	if !walls.Alone() {
		if report.Ended, err = EndLeft(cell.Mark, 10*time.Second); err != nil {
			return err
		}
	}
	// The output ends when no process has it open any more.
	if err := output.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, output); err != nil {
		report.Held = err.Error()
	}
	report.Alive = workingIn(cell.Dir)
	return json.NewEncoder(os.Stdout).Encode(report)
}

// workingIn are the processes whose working directory is this one, or that wait to be asked for
// their end.
func workingIn(dir string) (found []string) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		if cwd, err := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd")); err == nil && strings.TrimSuffix(cwd, " (deleted)") == dir {
			name, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "comm"))
			found = append(found, entry.Name()+" "+strings.TrimSpace(string(name)))
		}
	}
	return found
}

// TestNothingIsLeft has a program leave daemons in every way, and end or be killed. With namespaces
// nobody has to do anything about them; elsewhere their mark must be enough to find and end all of
// them.
func TestNothingIsLeft(t *testing.T) { eachMode(t, nothingIsLeft) }

// oldKernel is a machine whose kernel knows no descriptors of processes, and confines programs by
// little.
var oldKernel = mode{name: "a user of an old kernel", user: somebody, refuseNamespaces: true, noDescriptors: true}

// Where the kernel has no descriptors of processes, they are found and ended all the same.
func TestNothingIsLeftOnAnOldKernel(t *testing.T) {
	nothingIsLeft(t, oldKernel)
	if wrong := inMode(t, oldKernel, "leading server", scene{Dir: sceneDir(t, oldKernel)}); wrong != "0" {
		t.Errorf("another process was taken for the program %s times of 20", wrong)
	}
}

func nothingIsLeft(t *testing.T, m mode) {
	t.Helper()
	for _, part := range []string{"leaving server", "ended server"} {
		var report leftReport
		dir := sceneDir(t, m)
		if err := json.Unmarshal([]byte(inMode(t, m, part, scene{Dir: dir})), &report); err != nil {
			t.Fatal(err)
		}
		if len(report.Alive) > 0 || report.Held != "" {
			t.Errorf("%s: left are %v, reading the output to its end: %q", part, report.Alive, report.Held)
		}
		if !report.Walls.Alone() && report.Ended < len(ways) {
			t.Errorf("%s: only %d processes had to be ended: the test proves little", part, report.Ended)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

func init() { parts["server without descriptors"] = serverWithoutDescriptors }

// serverWithoutDescriptors ends what a run left while it can open no file for a moment.
func serverWithoutDescriptors(scene) error {
	mark := Mark(fmt.Sprint("left-", os.Getpid()))
	cmd := exec.Command("prlimit", fmt.Sprintf("--rttime=%d", mark), "/bin/sleep", "100")
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() //nolint:errcheck // it is killed
	marked := func() bool {
		now, _ := markOf(cmd.Process.Pid) // it is not marked while it cannot be asked
		return now == mark
	}
	if err := awaitThat("the process is marked", marked); err != nil {
		return err
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	limit.Cur = 64
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	var open []*os.File
	for {
		file, err := os.Open("/dev/null")
		if errors.Is(err, unix.EMFILE) {
			break
		}
		if err != nil {
			return err
		}
		open = append(open, file)
	}
	time.AfterFunc(200*time.Millisecond, func() {
		for _, file := range open {
			file.Close()
		}
	})
	ended, err := EndLeft(mark, 10*time.Second)
	fmt.Print(ended)
	return err
}

// A server that has too many files open finds what a run has left all the same.
func TestNothingIsLeftByAServerWithoutDescriptors(t *testing.T) {
	if ended := inMode(t, mode{name: "without descriptors"}, "server without descriptors", scene{Dir: "/"}); ended != "1" {
		t.Errorf("%s processes were ended", ended)
	}
}

func TestMarksOfRunsDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for i := range 10_000 {
		mark := Mark(fmt.Sprint("run-", i))
		if seen[mark] || mark < 1<<61 || mark >= 1<<62 {
			t.Fatalf("mark %d", mark)
		}
		seen[mark] = true
	}
}
