// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// envSelf makes the test binary the program under test.
const envSelf = "YUBA_TEST_SANDBOX"

func TestMain(m *testing.M) {
	if os.Getenv(envSelf) != "" {
		os.Unsetenv(envSelf)
		main()
	}
	if path := os.Getenv(envDial); path != "" {
		dial(path)
	}
	if os.Getenv(envType) != "" {
		typeHere()
	}
	os.Exit(m.Run())
}

// envDial makes the test binary a program that connects to a socket and says how that went.
const envDial = "YUBA_TEST_DIAL"

func dial(path string) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		fmt.Println("refused")
		os.Exit(0)
	}
	conn.Close()
	fmt.Println("connected")
	os.Exit(0)
}

// sandbox runs the program and returns its output and exit code.
func sandbox(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = []string{envSelf + "=1", "PATH=/usr/bin:/bin", "KEPT=yes"}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// confined skips no test: without Landlock it checks that the program says so, and reports false.
func confined(t *testing.T) bool {
	t.Helper()
	if landlock(t) > 0 {
		return true
	}
	if out, code := sandbox(t, "--", "/bin/true"); code != 0 || !strings.Contains(out, "not confined: this kernel has no Landlock") {
		t.Errorf("unconfined: %d %s", code, out)
	}
	if _, code := sandbox(t, "-require", "--", "/bin/true"); code != exitNoWall {
		t.Errorf("-require: %d", code)
	}
	return false
}

// landlock is the version that the sandbox finds.
func landlock(t *testing.T) (version int) {
	t.Helper()
	out, code := sandbox(t, "-probe")
	if _, err := fmt.Sscanf(out, "landlock %d\nfilter 1\n", &version); code != 0 || err != nil {
		t.Fatalf("-probe: %d %s", code, out)
	}
	return version
}

var system = []string{"-rx", "/usr", "-rx", "/lib", "-rx", "/lib64", "-rx", "/bin", "-rw", "/dev/null"}

func shell(extra []string, script string) []string {
	return append(append(append([]string{}, system...), extra...), "--", "/bin/sh", "-c", script)
}

func TestConfinedProgram(t *testing.T) {
	if !confined(t) {
		return
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"mine/a": "A", "read/b": "B", "other/c": "C", "run/hello": "#!/bin/sh\necho hello\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	paths := []string{"-rw", dir + "/mine", "-ro", dir + "/read", "-rx", dir + "/run", "-rw", dir + "/missing"}
	cases := map[string]struct{ script, want string }{
		"reads and writes its own":                  {"cd " + dir + "/mine && cat a && echo x > new && mkdir d && mv new d/ && cat d/new && rm -r d", "Ax\n"},
		"makes pipes and links in its own":          {"cd " + dir + "/mine && mkfifo p && ln -s a l && cat l && rm p l", "A"},
		"executes what is in its own":               {"cd " + dir + "/mine && cp ../run/hello h && chmod +x h && ./h && rm h", "hello\n"},
		"reads what is readable":                    {"cat " + dir + "/read/b", "B"},
		"does not write what is readable":           {"echo x > " + dir + "/read/b || echo denied; echo x > " + dir + "/read/n || echo denied; rm " + dir + "/read/b || echo denied", "denied\ndenied\ndenied\n"},
		"does not execute what is readable":         {"cp " + dir + "/run/hello " + dir + "/mine/x; " + dir + "/read/b || echo denied", "denied\n"},
		"executes what is executable":               {dir + "/run/hello", "hello\n"},
		"does not read what it was not given":       {"cat " + dir + "/other/c /etc/shadow || echo denied", "denied\n"},
		"does not list what it was not given":       {"ls " + dir + " / || echo denied", "denied\n"},
		"does not see environments of others":       {"cat /proc/1/environ /proc/$PPID/environ /proc/self/environ || echo denied", "denied\n"},
		"does not move files out":                   {"mv " + dir + "/mine/a " + dir + "/other/ || echo denied", "denied\n"},
		"does not link files in":                    {"ln " + dir + "/other/c " + dir + "/mine/c || echo denied", "denied\n"},
		"does not follow its own link out":          {"ln -s " + dir + "/other/c " + dir + "/mine/l; cat " + dir + "/mine/l || echo denied; rm " + dir + "/mine/l", "denied\n"},
		"makes no devices":                          {"mknod " + dir + "/mine/d b 8 0 || echo denied", "denied\n"},
		"keeps its environment":                     {"echo $KEPT", "yes\n"},
		"dumps no core":                             {"ulimit -c", "0\n"},
		"gains no privileges":                       {"grep NoNewPrivs /proc/self/status 2>/dev/null || echo unseen", "unseen\n"},
		"what it starts is confined, too":           {"sh -c 'cat " + dir + "/other/c || echo denied'", "denied\n"},
		"writes to the null device and to no other": {"echo x > /dev/null && echo fine; echo x > /dev/full || echo denied", "fine\ndenied\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			out, _ := sandbox(t, shell(paths, "exec 2>/dev/null; "+c.script)...)
			if diff := cmp.Diff(c.want, out); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSignalsStayInside(t *testing.T) {
	if landlock(t) < 6 {
		return // older kernels cannot confine signals; -probe reported it
	}
	out, _ := sandbox(t, shell(nil, "kill -0 $PPID 2>/dev/null || echo denied; sleep 10 & kill $! && echo own")...)
	if out != "denied\nown\n" {
		t.Errorf("%q", out)
	}
}

func TestSocketsOfProgramsOutside(t *testing.T) {
	abi := landlock(t)
	if abi == 0 {
		return // nothing is confined; other tests see to it that this is said
	}
	elsewhere := "connected" // docs/how-to/confinement.md says so
	if abi >= 9 {
		elsewhere = "refused"
	}
	for flag, want := range map[string]string{"": elsewhere, "-ro": "connected", "-rw": "connected"} {
		dir := t.TempDir()
		listener, err := net.Listen("unix", filepath.Join(dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		args := append([]string{}, system...)
		if flag != "" {
			args = append(args, flag, dir)
		}
		cmd := exec.Command(os.Args[0], append(args, "-rx", os.Args[0], "--", os.Args[0])...)
		cmd.Env = []string{envSelf + "=1", envDial + "=" + filepath.Join(dir, "s")}
		got, err := cmd.Output()
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%q: %s %v, want %s", flag, got, err, want)
		}
	}
}

func TestWhatIsAskedOfAKernelIsWhatItKnows(t *testing.T) {
	for abi, known := range map[int]int{1: 13, 2: 14, 3: 15, 4: 15, 5: 16, 8: 16, 9: 17, 12: 17} {
		rights, _, _ := handled(abi)
		if rights>>known != 0 || rights>>(known-1) != 1 {
			t.Errorf("version %d knows %d rights, asked for %b", abi, known, rights)
		}
	}
}

func TestInheritedFilesAreClosed(t *testing.T) {
	secret, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	cmd := exec.Command(os.Args[0], shell(nil, "head -c 4 <&3 || echo closed")...)
	cmd.Env = []string{envSelf + "=1"}
	cmd.ExtraFiles = []*os.File{secret}
	out, err := cmd.Output()
	if err != nil || string(out) != "closed\n" {
		t.Errorf("%q %v", out, err)
	}
}

// envType makes the test binary a program that tries to type at its standard input, and says how that went.
const envType = "YUBA_TEST_TYPE"

func typeHere() {
	var buffer [256]byte // as large as the settings of a terminal, and more
	for _, request := range []uintptr{unix.TIOCSTI, tiocLinux, 1<<32 | unix.TIOCSTI, unix.TCGETS} {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, 0, request, uintptr(unsafe.Pointer(&buffer)))
		fmt.Printf("%q\n", unix.ErrnoName(errno))
	}
	os.Exit(0)
}

// terminal makes a terminal of its own.
func terminal(t *testing.T) *os.File {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close(); master.Close() })
	return slave
}

func TestNothingIsTypedAtTheTerminal(t *testing.T) {
	refused := `"EPERM"` + "\n"
	for name, c := range map[string]struct {
		own  bool // the session's own terminal, that is not among the standard files
		want string
	}{
		"a standard file":   {false, refused + refused + refused + `""` + "\n"},
		"the session's own": {true, refused + refused + refused + `"ENOTTY"` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], append(append([]string{}, system...), "-rx", os.Args[0], "--", os.Args[0])...)
			cmd.Env = []string{envSelf + "=1", envType + "=1"}
			if c.own {
				cmd.ExtraFiles = []*os.File{terminal(t)}
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
			} else {
				cmd.Stdin = terminal(t)
			}
			got, err := cmd.Output()
			if err != nil || string(got) != c.want {
				t.Errorf("%q %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestAProgramInTheBackgroundGivesWay(t *testing.T) {
	usual, err := exec.Command("/usr/bin/nice").Output()
	if err != nil {
		t.Fatal(err)
	}
	own, err := strconv.Atoi(strings.TrimSpace(string(usual)))
	if err != nil {
		t.Fatal(err)
	}
	for more, c := range map[int]struct {
		flag string
		want int
	}{
		0: {"-background", max(own, 5)},
		9: {"-background", max(own+9, 5)},
		1: {"-require", own + 1},
	} {
		before, want := strconv.Itoa(more), strconv.Itoa(min(c.want, 19))+"\n"
		args := append([]string{"-n", before, os.Args[0], c.flag}, append(append([]string{}, system...), "--", "/usr/bin/nice")...)
		cmd := exec.Command("/usr/bin/nice", args...)
		cmd.Env = []string{envSelf + "=1"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if got, err := cmd.Output(); err != nil || string(got) != want {
			t.Errorf("%s from %s: %q %v, want %q", c.flag, before, got, err, want)
		}
	}
}

func TestBadUseIsAnError(t *testing.T) {
	cases := map[string]struct {
		args []string
		code int
		text string
	}{
		"no program":                {nil, exitUsage, "no absolute path of a program"},
		"a relative program":        {[]string{"--", "true"}, exitUsage, "no absolute path of a program"},
		"an unknown argument":       {[]string{"-x", "/", "--", "/bin/true"}, exitUsage, `unknown argument "-x"`},
		"a path is missing":         {[]string{"-rw"}, exitUsage, "-rw needs a value"},
		"a path with no place":      {[]string{"-at", "/a", "b", "--", "/bin/true"}, exitUsage, "-at needs two absolute paths"},
		"a place without a root":    {[]string{"-at", "/a", "/b", "--", "/bin/true"}, exitUsage, "-at needs -root"},
		"a user who is root":        {[]string{"-user", "0", "--", "/bin/true"}, exitUsage, "want a number above 0"},
		"a limit that nobody knows": {[]string{"-limit", "patience=1", "--", "/bin/true"}, exitUsage, "want NAME=N"},
		"a tunnel without a root":   {[]string{"-loopback", "-tunnel", "--", "/bin/true"}, exitUsage, "-tunnel needs -loopback and -root"},
		"a forward to a name":       {[]string{"-forward", "localhost:80", "--", "/bin/true"}, exitUsage, `-forward "localhost:80"`},
		"a forward and no tunnel":   {[]string{"-root", "-loopback", "-forward", "127.0.0.1:80", "--", "/bin/true"}, exitUsage, "-forward needs -tunnel"},
		"a shell without a relay":   {[]string{"-spawn", "user", "-root", "-loopback", "-tunnel", "--", "/bin/true"}, exitUsage, "-tunnel and -spawn need -relay"},
		"the program is not there":  {append(append([]string{}, system...), "--", "/bin/nowhere"), exitNoProgram, "start /bin/nowhere"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			out, code := sandbox(t, c.args...)
			if code != c.code || !strings.Contains(out, c.text) {
				t.Errorf("%d %s", code, out)
			}
		})
	}
}
