// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// cage is the sandbox of the proof: the path of yuba-sandbox, or empty for none.
type cage string

// What every tool may use; missing paths are left out. /proc is not among them: it shows the environment of processes.
var (
	systemPrograms = []string{"/usr", "/lib", "/lib64", "/bin", "/sbin", "/nix/store", "/run/current-system"}
	systemFiles    = []string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/passwd", "/etc/group",
		"/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/localtime", "/etc/timezone", "/etc/ld.so.cache", "/etc/alternatives", "/dev/zero", "/dev/random", "/dev/urandom",
		"/run/systemd/resolve", "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"}
	systemDevices = []string{"/dev/null", "/dev/full"}
)

// systemPath is the PATH of the proof.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// findCage finds yuba-sandbox, and tries it with the tool. Nothing of the stack runs without it, unless the caller wants that.
func findCage(ctx context.Context, tool string) (cage, error) {
	path, err := exec.LookPath("yuba-sandbox")
	if self, selfErr := os.Executable(); selfErr == nil {
		beside := filepath.Join(filepath.Dir(self), "yuba-sandbox")
		if _, statErr := os.Stat(beside); statErr == nil {
			path, err = beside, nil
		}
	}
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		cmd := cage(path).command(ctx, nil, tool, "version")
		cmd.Dir, cmd.Env = "/", []string{"HOME=/nonexistent", "PATH=" + systemPath, "CHECKPOINT_DISABLE=1"}
		var out []byte
		if out, err = cmd.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
		}
	}
	if err != nil {
		return "", ui.Exitf(ui.ExitFailure, "confine the proof with yuba-sandbox: %w.\nThe proof runs the stack's program and its providers on this machine. If you trust them with your files: --unconfined. Without a proof: --no-proof", err)
	}
	return cage(path), nil
}

// command calls the tool so that it can write these directories, and read only what the machine has for everybody.
func (c cage) command(ctx context.Context, writable []string, tool string, args ...string) *exec.Cmd {
	all := []string{tool}
	if c != "" {
		all = []string{string(c), "-require", "-follow"}
		add := func(flag string, paths ...string) {
			for _, path := range paths {
				all = append(all, flag, path)
			}
		}
		add("-rw", append(writable, systemDevices...)...)
		add("-rx", systemPrograms...)
		add("-rx", real(tool))
		add("-ro", systemFiles...)
		for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
			if path := os.Getenv(name); filepath.IsAbs(path) {
				add("-ro", path)
			}
		}
		all = append(all, "--", real(tool))
	}
	cmd := exec.CommandContext(ctx, all[0], append(all[1:], args...)...) //nolint:gosec // the user's own program, confined
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// real is the path without symbolic links, if there is one.
func real(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// toolConfig is the stack's configuration of the tool, in the home directory.
const toolConfig = "yuba-tool.rc"

// settle makes the home directory of the proof, with the files that the stack has there.
func (p *prover) settle() (err error) {
	if p.home, err = os.MkdirTemp("", "yuba-proof-*"); err != nil {
		return err
	}
	d := &directory{path: p.home}
	for _, f := range p.content.record.Spec.Files {
		if f.Location == run.FileInHome && err == nil {
			if !filepath.IsLocal(f.Path) {
				err = fmt.Errorf("its file %q leaves its directory", f.Path)
				break
			}
			err = d.replace(filepath.Join(p.home, filepath.FromSlash(f.Path)), f.Content)
		}
	}
	if config := p.content.record.Spec.CLIConfig; len(config) > 0 && err == nil {
		err = d.replace(filepath.Join(p.home, toolConfig), config)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(p.home, "tmp"), 0o700)
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(p.home))
	}
	return err
}

// passed are the names of this process's environment that the tool gets: how it reaches registries. The rest comes
// from the stack.
var passed = []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}

func (p *prover) environment() []string {
	env := []string{"PATH=" + systemPath}
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	spec := &p.content.record.Spec
	if len(spec.CLIConfig) > 0 {
		env = append(env, "TF_CLI_CONFIG_FILE="+filepath.Join(p.home, toolConfig))
	}
	for _, e := range spec.Env {
		env = append(env, e.Name+"="+e.Value)
	}
	if !p.secrets {
		for name, v := range spec.Variables {
			if v.Secret {
				env = append(env, "TF_VAR_"+name+"="+variableText(v.Value))
			}
		}
	}
	if spec.Workspace != "" && spec.Workspace != "default" {
		env = append(env, "TF_WORKSPACE="+spec.Workspace)
	}
	// The last one of a name counts.
	return append(env, "HOME="+p.home, "TMPDIR="+filepath.Join(p.home, "tmp"), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1")
}
