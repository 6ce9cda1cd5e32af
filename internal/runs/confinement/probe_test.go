// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() { parts["probe"], parts["probe without marks"] = probeOnly, probeWithoutMarks }

// probeOnly finds out what walls stand, for two directories that only the server may enter, and
// says what has become of these.
func probeOnly(s scene) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	data := filepath.Join(s.Dir, "data")
	work := filepath.Join(data, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	walls, err := Probe(ctx, s.Sandbox, data, work)
	if err != nil {
		return err
	}
	fmt.Printf("users %v", walls.Users)
	for _, dir := range []string{data, work} {
		var info unix.Stat_t
		if err := unix.Stat(dir, &info); err != nil {
			return err
		}
		fmt.Printf(", %o of %d", info.Mode&0o777, info.Gid)
	}
	return nil
}

// probeWithoutMarks does so where processes cannot be marked.
func probeWithoutMarks(s scene) error {
	if err := unix.Setrlimit(unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: 1_000_000, Max: 1_000_000}); err != nil {
		return err
	}
	err := probeOnly(s)
	fmt.Print("\n", err)
	return nil
}

// Directories are changed only where users of their own are what programs get.
func TestOnlyUsedDirectoriesAreOpened(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root gives users of their own: a user's directories must stay as they are")
	}
	container := mode{name: "root of a container", without: []uintptr{unix.CAP_SYS_ADMIN}, refuseNamespaces: true}
	lesser := container
	lesser.without = append([]uintptr{unix.CAP_SETUID}, lesser.without...)
	closed := func(dir string) string {
		inside := filepath.Join(dir, "closed", "inside")
		if err := errors.Join(os.MkdirAll(inside, 0o755), os.Chmod(filepath.Dir(inside), 0o700)); err != nil {
			t.Fatal(err)
		}
		return inside
	}
	same := func(dir string) string { return dir }
	for name, c := range map[string]struct {
		m    mode
		dir  func(string) string
		want string
	}{
		"users of their own":                      {container, same, fmt.Sprintf("users true, 710 of %d, 710 of %[1]d", PassingGroup)},
		"a machine without users of their own":    {lesser, same, "users false, 700 of 0, 700 of 0"},
		"users who could not come to directories": {container, closed, "users false, 700 of 0, 700 of 0"},
	} {
		if os.Geteuid() != 0 {
			c.m.without, c.want = nil, fmt.Sprintf("users false, 700 of %d, 700 of %[1]d", os.Getegid())
		}
		if got := inMode(t, c.m, "probe", scene{Dir: c.dir(sceneDir(t, c.m))}); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A server whose runs could not be marked does not start: each of them would fail.
func TestProcessesThatCannotBeMarkedAreFoundAtTheStart(t *testing.T) {
	m := mode{name: "a machine with a limit"}
	if out := inMode(t, m, "probe without marks", scene{Dir: sceneDir(t, m)}); !strings.Contains(out, "LimitRTTIME") || strings.Contains(out, "users") {
		t.Errorf("it says %q", out)
	}
}
