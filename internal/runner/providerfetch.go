// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/plan"
	"github.com/yuba-dev/yuba/internal/provider"
	"github.com/yuba-dev/yuba/internal/run"
)

// maxFetch is how long the download of one provider may take; maxFetchOutput is how much of what the tool says is kept.
const (
	maxFetch       = 30 * time.Minute
	maxFetchOutput = 1 << 20
)

// fetcher has the tool install a provider. It goes on for other runs that wait for the same when the one that began it
// has ended, so that it has nothing of that one's working directory.
type fetcher struct {
	tool   tool
	opts   *Options
	config []byte
	env    []run.EnvVar
	mask   *masker
}

func (j *job) fetcher() *fetcher {
	return &fetcher{tool: j.space.tool, opts: &j.opts, config: j.spec.CLIConfig, env: fetchEnvironment(&j.spec), mask: j.mask}
}

// fetch has the tool install one provider where nothing of the stack is: no code of the stack's runs, and no provider is
// started.
func (f *fetcher) fetch(ctx context.Context, dir, mirror string, a provider.Address) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxFetch, fmt.Errorf("the download took longer than %s", maxFetch))
	defer cancel()
	config, err := fetchConfig(f.config, mirror, a)
	if err != nil {
		return err
	}
	for _, name := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, cliConfigName), config, 0o600); err != nil {
		return err
	}
	args := []string{"init", "-backend=false", "-input=false", "-no-color"}
	if f.tool.jsonInit() {
		args = append(args, "-json")
	}
	cmd, out, errs := f.command(ctx, dir, mirror, args...)
	err = cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("start %s: %w", f.opts.Sandbox, err)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s init: %s", f.tool.name, f.problem(out, errs, err))
}

// command is a call of the tool in the sandbox.
func (f *fetcher) command(ctx context.Context, dir, mirror string, call ...string) (cmd *exec.Cmd, out, errs *bounded) {
	out, errs = &bounded{limit: maxFetchOutput}, &bounded{limit: maxFetchOutput}
	args := []string{"-background", "-rw", dir}
	executable := append([]string{f.tool.path}, systemExecutable...)
	for _, path := range []string{f.opts.ProviderMirror, mirror} {
		if path != "" {
			executable = append(executable, path)
		}
	}
	for flag, paths := range map[string][]string{"-rw": systemWritable, "-rx": executable, "-ro": systemReadable} {
		for _, path := range paths {
			args = append(args, flag, path)
		}
	}
	args = append(append(args, "--", f.tool.path), call...)
	cmd = exec.CommandContext(ctx, f.opts.Sandbox, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, errs
	cmd.Env = []string{"PATH=" + systemPath, "HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + filepath.Join(dir, "tmp"), "LANG=C.UTF-8", "TF_IN_AUTOMATION=1",
		"TF_INPUT=0", "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=" + filepath.Join(dir, cliConfigName)}
	for _, e := range f.env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd, out, errs
}

// problem is what the tool said, without secrets.
func (f *fetcher) problem(out, errs *bounded, ended error) string {
	var stream plan.Stream
	for line := range bytes.Lines(out.Bytes()) {
		stream.Feed(bytes.TrimRight(line, "\r\n"))
	}
	text := stream.Errors().Error()
	if text == "" {
		lines := strings.Split(strings.TrimSpace(string(errs.Bytes())), "\n")
		text = strings.TrimSpace(strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
	return f.mask.text(orText(text, ended.Error()))
}
