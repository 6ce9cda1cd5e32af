// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forges

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// niceness is the priority that Yuba gives its programs: on a machine with other work, a higher one would be another race.
const niceness = "5"

// plain is the same program, planned with plain tofu.
type plain struct{ tofu, dir string }

func newPlain(t testing.TB, files map[string]string) *plain {
	t.Helper()
	p := &plain{tofu: tofutest.Tofu(t), dir: t.TempDir()}
	for name, content := range files {
		p.write(t, name, content)
	}
	for i := range touched {
		for _, args := range [][]string{{"init", "-input=false"}, {"apply", "-input=false", "-auto-approve"}} {
			if out, err := p.command(i, args...).CombinedOutput(); err != nil {
				t.Fatalf("tofu %s: %v\n%s", args[0], err, out)
			}
		}
	}
	return p
}

func (p *plain) write(t testing.TB, name, content string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p *plain) command(stack int, args ...string) *exec.Cmd {
	cmd := exec.Command("nice", append([]string{"-n", niceness, p.tofu}, args...)...)
	cmd.Dir = filepath.Join(p.dir, fmt.Sprintf("stacks/s%03d", stack))
	cmd.Env = append(os.Environ(), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
	return cmd
}

// run plans the touched stacks with a version of the module, two at a time, and returns how long that took, by the clock and
// on CPUs. With init, it begins without a working directory, as a CI job does.
func (p *plain) run(t testing.TB, version int, init bool) (wall, cpu time.Duration) {
	t.Helper()
	p.write(t, "modules/five/main.tf", five(version))
	commands := [][]string{{"plan", "-input=false", "-lock=false", "-out=plan.bin"}}
	if init {
		commands = append([][]string{{"init", "-input=false"}}, commands...)
		for i := range touched {
			if err := os.RemoveAll(filepath.Join(p.dir, fmt.Sprintf("stacks/s%03d/.terraform", i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin := time.Now()
	var wait sync.WaitGroup
	var spent atomic.Int64
	slots := make(chan struct{}, 2)
	for i := range touched {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			for _, args := range commands {
				cmd := p.command(i, args...)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("tofu %s: %v\n%s", args[0], err, out)
				}
				spent.Add(int64(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()))
			}
		})
	}
	wait.Wait()
	return time.Since(begin), time.Duration(spent.Load())
}
