// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
)

// What every tofu may read, and read and execute. Paths that do not exist are left out by the sandbox. /proc is not
// here: it would show every process' environment.
var (
	SystemExecutable = []string{"/usr", "/lib", "/lib64", "/bin", "/sbin", "/nix/store", "/run/current-system"}
	SystemReadable   = []string{
		"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols",
		"/etc/passwd", "/etc/group", "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/localtime", "/etc/timezone",
		"/etc/ld.so.cache", "/etc/alternatives", "/etc/gitconfig", "/etc/ssh/ssh_config", "/etc/ssh/ssh_config.d",
		"/etc/ssh/ssh_known_hosts", "/dev/zero", "/dev/random", "/dev/urandom", "/run/systemd/resolve",
		"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
	}
	SystemWritable = []string{"/dev/null", "/dev/full"}
)

// LeftPatience is how long it is tried to end what a program left running.
const LeftPatience = 10 * time.Second

// SystemProgram finds a program of the machine that every tofu may run.
func SystemProgram(name string) (string, error) {
	for _, dir := range filepath.SplitList(tools.SystemPath) {
		at := filepath.Join(dir, name)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return at, nil
		}
	}
	return "", fmt.Errorf("%s is not in %s", name, tools.SystemPath)
}
