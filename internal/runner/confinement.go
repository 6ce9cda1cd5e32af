// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// What every tofu may read, and read and execute. Paths that do not exist are left out by the sandbox. /proc is not
// here: it would show every process' environment.
var (
	systemExecutable = []string{"/usr", "/lib", "/lib64", "/bin", "/sbin", "/nix/store", "/run/current-system"}
	systemReadable   = []string{
		"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols",
		"/etc/passwd", "/etc/group", "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/localtime", "/etc/timezone",
		"/etc/ld.so.cache", "/etc/alternatives", "/etc/gitconfig", "/etc/ssh/ssh_config", "/etc/ssh/ssh_config.d",
		"/etc/ssh/ssh_known_hosts", "/dev/zero", "/dev/random", "/dev/urandom", "/run/systemd/resolve",
		"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
	}
	systemWritable = []string{"/dev/null", "/dev/full"}
)

// sandboxArgs say what tofu may touch.
func (w *workspace) sandboxArgs(j *job) []string {
	writable := append([]string{
		filepath.Join(w.base, sourceDir), filepath.Join(w.base, homeDir), filepath.Join(w.base, planDir), w.temp,
	}, systemWritable...)
	executable := append([]string{w.tool.path}, systemExecutable...)
	if j.opts.ProviderMirror != "" {
		executable = append(executable, j.opts.ProviderMirror)
	}
	if scope := j.providerScope(); scope != nil {
		executable = append(executable, scope.Mirror())
	}
	var args []string
	add := func(flag string, paths []string) {
		for _, path := range paths {
			args = append(args, flag, path)
		}
	}
	add("-rw", writable)
	add("-rx", executable)
	add("-ro", append([]string{filepath.Join(w.base, cliConfigName)}, systemReadable...))
	return args
}

// probeSandbox finds out whether the kernel can confine, and why not. A sandbox that is missing is an error: without
// it not even the files a process inherits are closed.
func probeSandbox(path string) (confined bool, why string, err error) {
	out, err := exec.Command(path, "-probe").CombinedOutput()
	text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(string(out)), "yuba-sandbox: "))
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, "", nil
	case errors.As(err, &exit) && exit.ExitCode() == 3:
		return false, text, nil
	}
	return false, "", fmt.Errorf("start the sandbox %s: %w: %s", path, err, text)
}
