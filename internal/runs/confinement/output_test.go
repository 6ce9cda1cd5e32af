// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	parts["printing server"], parts["print"], parts["forge"] = printingServer, printDocument, forge
}

// printed is a line of the honest program, forged one that the attacker wants the reader to get.
const (
	printed = "honest\n"
	forged  = "forged"
)

// printDocument starts a process that attacks its output, waits for that attempt, and prints.
func printDocument(s scene) error {
	s.Victim.Server = os.Getpid()
	cmd := exec.Command(s.Self)
	cmd.Env = s.environment("forge")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := awaitThat("the other process has tried to forge", func() bool { return exists("ready") }); err != nil {
		return err
	}
	for range 200 {
		if _, err := fmt.Print(printed); err != nil {
			return err
		}
	}
	return errors.Join(cmd.Process.Kill(), ignoreKilled(cmd.Wait()))
}

// forge opens the output of another process by its name. If that succeeds, it prints a line before
// it reports its attempt, and then takes what the other process prints, as long as it lives.
func forge(s scene) error {
	name := fmt.Sprintf("/proc/%d/fd/1", s.Victim.Server)
	out, err := os.OpenFile(name, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err == nil {
		fmt.Fprintln(out, forged) //nolint:errcheck // the test sees it
	}
	if err := errors.Join(os.WriteFile("tried", []byte(fmt.Sprint(err)), 0o600), os.Rename("tried", "ready")); err != nil {
		return err
	}
	for text := make([]byte, 4096); err == nil; {
		_, err = out.Read(text)
	}
	return nil
}

// printReport is what a server read from a program, and what its attacker reported.
type printReport struct {
	Walls       Walls
	Read, Tried string
}

func printingServer(s scene) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	walls, cell, err := enter(ctx, s, "printer")
	if err != nil {
		return err
	}
	cmd := walls.Command(ctx, cell, s.Self)
	cmd.Env = s.environment("print")
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	running, err := Start(cmd)
	if err != nil {
		return err
	}
	if err := running.Wait(time.Second); err != nil {
		return fmt.Errorf("%w: %s", err, problem.String())
	}
	tried, err := os.ReadFile(cell.Dir + "/ready")
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(printReport{walls, out.String(), string(tried)})
}

// The reader gets exactly what the program prints, although another process in the same cell
// attacks its output.
func TestNobodyForgesWhatAProgramPrints(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		var report printReport
		if err := json.Unmarshal([]byte(inMode(t, m, "printing server", scene{Dir: sceneDir(t, m)})), &report); err != nil {
			t.Fatal(err)
		}
		if report.Read != strings.Repeat(printed, 200) {
			t.Errorf("with %s it is read:\n%s", report.Walls.Summary(), report.Read)
		}
		if report.Tried == "<nil>" {
			t.Error("the output can be opened by its name")
		}
	})
}

// The reader gets all of a large document, and the program's exit code.
func TestAllThatAProgramPrintsIsRead(t *testing.T) {
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "head -c 50000000 /dev/zero; echo problem >&2; exit 3")
	cmd.Stdout, cmd.Stderr = &out, &problems
	running, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := running.Wait(time.Second); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("%v", err)
	}
	if out.Len() != 50_000_000 || problems.String() != "problem\n" {
		t.Errorf("%d bytes, %q", out.Len(), problems.String())
	}
}

// A process that keeps the output open does not delay the reader, whether it prints or not.
func TestAKeptOutputDoesNotKeepTheReader(t *testing.T) {
	for _, daemon := range []string{"sleep 20", "while echo more; do :; done"} {
		var out bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "("+daemon+") & echo $! >&2; echo said")
		var pid bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &pid
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		running, err := Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := running.Wait(100 * time.Millisecond); !errors.Is(err, exec.ErrWaitDelay) {
			t.Errorf("%s: %v", daemon, err)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s: it took %s", daemon, took)
		}
		if !strings.Contains(out.String(), "said") {
			t.Errorf("%s: %q", daemon, out.String())
		}
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	}
}
