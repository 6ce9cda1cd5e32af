// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// boot is the first process of a machine: it gives the machine its file system, does what the cloud-config says,
// and then only reaps orphans.
func boot(dir string) error {
	if os.Getpid() != 1 {
		return errors.New("boot is for the first process of a machine")
	}
	if err := enterCgroup(filepath.Base(os.Getenv("MACHINE_CGROUP"))); err != nil {
		return fmt.Errorf("enter the machine's cgroup: %w", err)
	}
	if err := mountAll(dir); err != nil {
		return err
	}
	// Cloud-init is a process of its own: this one must wait for all orphans. The machine stays if it fails, as on a cloud.
	if err := child("local-machines", "cloud-init", "/run/machine").Start(); err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(-1, &status, 0, nil); errors.Is(err, syscall.ECHILD) {
			time.Sleep(time.Second)
		}
	}
}

// mountAll mounts what is the machine's own. Containers keep their layers in data: overlays do not stack.
func mountAll(dir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to the machine: %w", err)
	}
	over := func(target, name string) error {
		options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", target, filepath.Join(dir, name, "up"), filepath.Join(dir, name, "work"))
		return syscall.Mount("overlay", target, "overlay", 0, options)
	}
	memory := func(target string) error { return syscall.Mount("tmpfs", target, "tmpfs", 0, "mode=0755") }
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"/etc", func() error { return over("/etc", "etc") }},
		{"/usr/local", func() error { return over("/usr/local", "usr-local") }},
		{"/var", func() error { return over("/var", "var") }},
		{"/var/lib/rancher", func() error {
			return syscall.Mount(filepath.Join(dir, "data"), "/var/lib/rancher", "", syscall.MS_BIND, "")
		}},
		{"/proc", func() error { return syscall.Mount("proc", "/proc", "proc", 0, "") }},
		{"/run", func() error { return memory("/run") }},
		// The directory of the user data may be below /tmp, which the machine does not see.
		{"/machine", func() error {
			text, err := os.ReadFile(filepath.Join(dir, "user-data"))
			if err != nil {
				return err
			}
			if err := os.MkdirAll("/run/machine", 0o700); err != nil {
				return err
			}
			return os.WriteFile("/run/machine/user-data", text, 0o600)
		}},
		{"/tmp", func() error { return syscall.Mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777") }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("mount %s of the machine: %w", step.what, err)
		}
	}
	return nil
}

// child is a process of the machine, with an environment that we built.
func child(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = os.Stdout, os.Stderr, "/"
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "MACHINE_CGROUP=" + os.Getenv("MACHINE_CGROUP")}
	return cmd
}
