// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func init() { parts["leading"], parts["leading server"] = leading, leadingServer }

// leading starts processes that lead sessions of their own, children and orphans, and goes on.
func leading(scene) error {
	const orphans = "for i in 1 2 3 4 5; do setsid sleep 100 & (setsid sh -c 'echo x >>begun; sleep 100' &); done; wait"
	return exec.Command("/bin/sh", "-c", orphans).Run()
}

func leadingServer(s scene) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	walls, cell, err := enter(ctx, s, "leader")
	if err != nil {
		return err
	}
	cmd := walls.Command(ctx, cell, s.Self)
	cmd.Env = s.environment("leading")
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := awaitThat("five orphans have begun", func() bool {
		text, err := os.ReadFile(filepath.Join(cell.Dir, "begun"))
		return err == nil && strings.Count(string(text), "x") >= 5
	}); err != nil {
		return err
	}
	wrong := 0
	for range 20 {
		if Leader(cell.Mark) != cmd.Process.Pid {
			wrong++
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	if _, err := EndLeft(cell.Mark, 10*time.Second); err != nil {
		return err
	}
	_ = cmd.Wait() // it was killed
	fmt.Print(wrong)
	return nil
}

// Whatever sessions a program's processes begin, the program is found.
func TestTheLeaderIsTheProgramItself(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		if wrong := inMode(t, m, "leading server", scene{Dir: sceneDir(t, m)}); wrong != "0" {
			t.Errorf("another process was taken for it %s times of 20", wrong)
		}
	})
}

// A mark that would be cut is found by nobody: nothing starts.
func TestAMarkThatDoesNotFitFails(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "prlimit", "--rttime=1000000", theStage.sandbox, "-rx", "/", "-mark", fmt.Sprint(Mark("r")), "--", "/bin/echo", "started").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "LimitRTTIME") || strings.Contains(string(out), "started") {
		t.Errorf("%v: %s", err, out)
	}
}
