// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A process that has ended, and whose parent has not asked for its end yet, takes nothing of what
// is counted.
func TestTheDeadAreNotCounted(t *testing.T) {
	cmd := exec.Command("/bin/true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it was waited for to be dead
	var dead Usage
	if err := awaitThat("the dead process counts as nothing", func() bool {
		dead = Usage{}
		dead.add(cmd.Process.Pid)
		return dead == Usage{}
	}); err != nil {
		t.Fatalf("%v, but as %+v", err, dead)
	}
	var self Usage
	self.add(os.Getpid())
	if self.Processes < 2 || self.Memory == 0 {
		t.Errorf("this process counts as %+v", self)
	}
}

// An unlinked file counts once, however many processes have it open. Files with a name and files in
// memory do not count.
func TestUnnamedFilesAreMeasured(t *testing.T) {
	const size = 3 << 20
	write := func(name string) *os.File {
		file, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		if _, err := file.WriteString(strings.Repeat("x", size)); err != nil {
			t.Fatal(err)
		}
		return file
	}
	named, unnamed := write("named"), write("unnamed")
	if err := os.Remove(unnamed.Name()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/cat")
	cmd.ExtraFiles = []*os.File{named, unnamed, unnamed}
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	// A process that answers has opened all files that it needs to start.
	if _, err := in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	walls := Walls{Namespaces: WithUser} // members are descendants then
	if got := walls.MeasureUnnamed(Program{PID: cmd.Process.Pid}, 100); got.Over || got.Bytes < size || got.Bytes > size+1<<20 {
		t.Errorf("%+v", got)
	}
	open := len(namesIn(fmt.Sprintf("/proc/%d/fd", cmd.Process.Pid), -1))
	for most, over := range map[int]bool{0: true, open - 1: true, open: false} {
		if got := walls.MeasureUnnamed(Program{PID: cmd.Process.Pid}, most); got.Over != over {
			t.Errorf("of %d open files at most: %+v", most, got)
		}
	}
}

// Without namespaces all programs are found by one look at the machine's processes: its cost does
// not grow with them.
func TestProgramsAreMeasuredByOneLook(t *testing.T) {
	runtime.LockOSThread() // the kernel counts by threads
	defer runtime.UnlockOSThread()
	marked := exec.Command("prlimit", fmt.Sprintf("--rttime=%d", Mark("marked")), "/bin/sleep", "60")
	if err := marked.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		marked.Process.Kill()
		marked.Wait()
	})
	if err := awaitThat("prlimit has marked itself", func() bool {
		mark, _ := markOf(marked.Process.Pid)
		return mark == Mark("marked")
	}); err != nil {
		t.Fatal(err)
	}
	programs := []Program{{Mark: Mark("marked")}}
	one := readsOf(t, func() { Walls{}.Measure(programs, 1000) })
	for i := range 99 {
		programs = append(programs, Program{Mark: Mark(fmt.Sprint(i))})
	}
	var usages []Usage
	hundred := readsOf(t, func() { usages = Walls{}.Measure(programs, 1000) })
	if usages[0].Processes != 1 || usages[0].Memory == 0 || usages[99] != (Usage{}) {
		t.Errorf("the marked one counts as %+v, one that is not there as %+v", usages[0], usages[99])
	}
	if hundred > 3*one {
		t.Errorf("one program took %d reads, a hundred %d", one, hundred)
	}
}

// readsOf counts the reads of this thread.
func readsOf(t *testing.T, f func()) int {
	t.Helper()
	now := func() (reads int) {
		text, err := os.ReadFile("/proc/thread-self/io")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "syscr: ")
		if _, err := fmt.Sscan(rest, &reads); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return reads
	}
	before := now()
	f()
	return now() - before
}
