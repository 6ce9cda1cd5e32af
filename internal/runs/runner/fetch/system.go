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

// Paths that every tofu may use; the sandbox ignores missing ones. /proc is not included: it shows
// the environment of every process.
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

// Downloads run outside of the run, with network and unmetered, so they must not run the stack's
// programs. Git and ssh start programs for more and more settings; only known harmless ones pass.

var (
	// gitNames are prefixes of the settings of git, ssh and curl.
	gitNames = []string{"GIT_", "SSH_", "NETRC", "CURL_"}
	// harmlessNames cannot make git run a program.
	harmlessNames = []string{
		"GIT_TERMINAL_PROMPT", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_HTTP_USER_AGENT",
		"GIT_HTTP_LOW_SPEED_LIMIT", "GIT_HTTP_LOW_SPEED_TIME", "GIT_SSL_NO_VERIFY", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "NETRC",
	}
)

// IsHarmless reports whether a variable cannot make git run a program.
func IsHarmless(name string) bool { return slices.Contains(harmlessNames, name) }

// isHarmlessFile reports whether a home file has credentials only.
func isHarmlessFile(name string) bool {
	if name = path.Clean(name); name == ".netrc" || name == ".ssh/known_hosts" || name == ".ssh/known_hosts2" {
		return true
	}
	key, isKey := strings.CutPrefix(name, ".ssh/id_")
	return isKey && !strings.Contains(key, "/")
}

// StartsPrograms returns the variable or file that may make a download run a program, if any.
func StartsPrograms(env []run.EnvVar, home []run.File) string {
	for _, e := range env {
		if HasAnyPrefix(strings.ToUpper(e.Name), gitNames) && !IsHarmless(e.Name) {
			return "the environment has " + e.Name + ", which may make git or ssh run programs"
		}
	}
	for _, f := range home {
		if !isHarmlessFile(f.Path) {
			return "the home directory has " + f.Path + ", which may make git, ssh or tofu run programs"
		}
	}
	return ""
}

// LeftPatience limits the attempt to end leftover processes.
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
