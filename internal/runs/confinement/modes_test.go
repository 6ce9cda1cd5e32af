// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mode is a kind of machine, or of user on it, that Yuba may find itself on. The test binary is
// started as one.
type mode struct {
	name string
	// user is who it is, 0 for root; without are the rights that root lacks; refuseNamespaces has
	// the kernel refuse user namespaces, as those of containers and hardened machines do.
	user             int
	without          []uintptr
	refuseNamespaces bool
	// noDescriptors has the kernel know no descriptors of processes, as Linux before 5.3.
	noDescriptors bool
	// want are the walls that must stand.
	want Walls
}

// somebody is a user who is nobody else's.
const somebody = 65533

var modes = []mode{
	{name: "root", want: Walls{Namespaces: Plain, Users: true}},
	{name: "root of a container", without: []uintptr{unix.CAP_SYS_ADMIN}, want: Walls{Namespaces: WithUser, Users: true}},
	{name: "root of a container that makes no namespaces", without: []uintptr{unix.CAP_SYS_ADMIN}, refuseNamespaces: true, want: Walls{Users: true}},
	{name: "root without any rights", without: allRights(), refuseNamespaces: true, want: Walls{}},
	{name: "a user", user: somebody, want: Walls{Namespaces: WithUser}},
	{name: "a user without user namespaces", user: somebody, refuseNamespaces: true, want: Walls{}},
}

func allRights() (all []uintptr) {
	for right := range uintptr(unix.CAP_LAST_CAP + 1) {
		all = append(all, right)
	}
	return all
}

// Environment variables that make the test binary something else.
const (
	// envPlay is the name of the part, envScene its task as JSON.
	envPlay  = "YUBA_TEST_PLAY"
	envScene = "YUBA_TEST_SCENE"
)

// parts are what the test binary can be.
var parts = map[string]func(scene) error{}

// scene is what a part has to know.
type scene struct {
	Sandbox, Dir     string
	Without          []uintptr
	RefuseNamespaces bool
	NoDescriptors    bool
	// Next is the part to play after the rights were given up.
	Next string
	// Self is the test binary at a place where all may start it.
	Self string
	// Device is the mode of the device for tunnels; 0 for the machine's own.
	Device uint32
	// ModeUser is the user to become first, with the machine's devices changed before.
	ModeUser int
	// Allow is the list of the relay, which is testdata/relay.
	Allow []string
	// Resolver is a directory with other files for resolvers, which need a Device, too.
	Resolver string
	// User is that of the cell, Server and Others what is to be attacked.
	User    int
	Victim  victim
	Targets targets
}

func play(part string) int {
	var s scene
	if err := json.Unmarshal([]byte(os.Getenv(envScene)), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if err := parts[part](s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (s scene) environment(part string) []string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return []string{envPlay + "=" + part, envScene + "=" + string(text), "PATH=/usr/bin:/bin"}
}

// become gives up what the mode lacks and goes on as the next part.
func become(s scene) error {
	runtime.LockOSThread()
	for _, right := range s.Without {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, right, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("give up the right %d: %w", right, err)
		}
	}
	if s.RefuseNamespaces {
		if err := refuseUserNamespaces(); err != nil {
			return err
		}
	}
	if s.NoDescriptors {
		if err := refuseDescriptors(); err != nil {
			return err
		}
	}
	return syscall.Exec("/proc/self/exe", os.Args[:1], s.environment(s.Next))
}

// refuseDescriptors has the kernel answer as one that does not know descriptors of processes.
func refuseDescriptors() error {
	return install([]unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_PIDFD_OPEN, Jt: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
	})
}

// refuseUserNamespaces has the kernel refuse them as container engines do, by a filter.
func refuseUserNamespaces() error {
	const words = 16 // where arguments begin in struct seccomp_data
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	filter := []unix.SockFilter{
		load(0),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE3, Jt: 5},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE, Jt: 1},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_UNSHARE, Jf: 2},
		load(words),
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, Jt: 2},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
	}
	return install(filter)
}

func install(filter []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

// stage is a directory that everybody may enter, with the programs that tests start.
type stage struct{ dir, sandbox, self, relay string }

var theStage stage

func TestMain(m *testing.M) {
	if part := os.Getenv(envPlay); part != "" {
		os.Exit(play(part))
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("/var/tmp", "yuba-confinement-test-") // not below /tmp, which programs have one of their own of
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	theStage = stage{dir: dir, sandbox: filepath.Join(dir, "yuba-sandbox"), self: filepath.Join(dir, "self"), relay: filepath.Join(dir, relayName)}
	for program, of := range map[string]string{theStage.sandbox: "github.com/yuba-dev/yuba/cmd/yuba-sandbox", theStage.relay: "./testdata/relay"} {
		if err := buildProgram(program, of); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	text, err := os.ReadFile(os.Args[0])
	if err := errors.Join(err, os.WriteFile(theStage.self, text, 0o755), os.Chmod(dir, 0o755)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// buildProgram builds a program of a package, without libraries.
func buildProgram(program, of string) error {
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, of)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", of, err, out)
	}
	return nil
}

// inMode plays a part in a mode and returns what it prints.
func inMode(t *testing.T, m mode, part string, s scene) string {
	t.Helper()
	s.Sandbox, s.Self, s.Next, s.Without, s.RefuseNamespaces = cmp.Or(s.Sandbox, theStage.sandbox), theStage.self, part, m.without, m.refuseNamespaces
	s.NoDescriptors = m.noDescriptors
	cmd := exec.CommandContext(t.Context(), theStage.self)
	cmd.Env, cmd.Dir = s.environment("become"), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if s.Device != 0 && os.Geteuid() == 0 {
		s.ModeUser = m.user
		cmd.Env, cmd.SysProcAttr.Cloneflags = s.environment("admit"), unix.CLONE_NEWNS
	} else if m.user != 0 && os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(m.user), Gid: uint32(m.user)}
	}
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", m.name, err, out, problems.String())
	}
	return string(out)
}

// possible are the modes that the user who runs the tests can play.
func possible(t *testing.T) []mode {
	t.Helper()
	if os.Geteuid() == 0 {
		return modes
	}
	var all []mode
	for _, m := range modes {
		if m.user != 0 {
			all = append(all, m)
		}
	}
	t.Logf("only root can be root: %d of %d modes are tried", len(all), len(modes))
	return all
}

// eachMode runs a test in every mode.
func eachMode(t *testing.T, test func(t *testing.T, m mode)) {
	for _, m := range possible(t) {
		t.Run(m.name, func(t *testing.T) { test(t, m) })
	}
}
