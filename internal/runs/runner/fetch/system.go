// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
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

// Downloads for the stores run outside of the run: with the machine's network, and not measured. So they must not run what the
// stack's author wrote. git and ssh start programs that variables and files name, under more and more names; a stack that has
// others than these gets its modules by its own init.

var (
	// gitNames begin the names that git, ssh and curl take settings from.
	gitNames = []string{"GIT_", "SSH_", "NETRC", "CURL_"}
	// harmlessNames are those that name no program, and no file that may.
	harmlessNames = []string{
		"GIT_TERMINAL_PROMPT", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_HTTP_USER_AGENT",
		"GIT_HTTP_LOW_SPEED_LIMIT", "GIT_HTTP_LOW_SPEED_TIME", "GIT_SSL_NO_VERIFY", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "NETRC",
	}
)

// IsHarmless says whether a variable tells git where modules come from, and cannot have it run a program.
func IsHarmless(name string) bool { return slices.Contains(harmlessNames, name) }

// isHarmlessFile says whether a file of the home directory has credentials, and cannot have git or ssh run a program.
func isHarmlessFile(name string) bool {
	if name = path.Clean(name); name == ".netrc" || name == ".ssh/known_hosts" || name == ".ssh/known_hosts2" {
		return true
	}
	key, isKey := strings.CutPrefix(name, ".ssh/id_")
	return isKey && !strings.Contains(key, "/")
}

// StartsPrograms says which of a stack's variables and files may have a download run a program; empty when none does.
func StartsPrograms(env []run.EnvVar, home []run.File) string {
	for _, e := range env {
		if HasAnyPrefix(strings.ToUpper(e.Name), gitNames) && !IsHarmless(e.Name) {
			return "the environment has " + e.Name + ", by which git or ssh may run programs"
		}
	}
	for _, f := range home {
		if !isHarmlessFile(f.Path) {
			return "the home directory has " + f.Path + ", by which git, ssh or tofu may run programs"
		}
	}
	return ""
}

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
