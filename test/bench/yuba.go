// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/proctest"
)

// patience is the timeout of every operation.
const patience = 2 * time.Minute

// yuba is a running Yuba: a server and its runner.
type yuba struct {
	dir    string
	cmd    *exec.Cmd
	took   time.Duration // from exec to ready
	runner int
	log    *decisionLog
}

// start starts Yuba with a data directory and waits until it is ready.
func (b *bench) start(ctx context.Context, dir string, args ...string) (*yuba, error) {
	api, err := proctest.FreeAddress()
	if err != nil {
		return nil, err
	}
	web, err := proctest.FreeAddress()
	if err != nil {
		return nil, err
	}
	y := &yuba{dir: dir, log: newDecisionLog()}
	all := append([]string{"up", "--data-dir", dir, "--api-address", api, "--http-address", web, "--registry-address", "127.0.0.1:0", "--tofu", b.programs.tofu, "--log-format", "json"}, args...)
	y.cmd = exec.CommandContext(ctx, b.programs.yuba, all...)
	y.cmd.Stderr = y.log
	out, err := y.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := y.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "Yuba is ready") {
			y.took = time.Since(began)
			break
		}
	}
	if y.took == 0 {
		return nil, errors.Join(errors.New("yuba up ended before it was ready"), y.cmd.Wait())
	}
	go func() { // later output must not fill the pipe
		for lines.Scan() { //nolint:revive // discarded
		}
	}()
	return y, y.findRunner(ctx)
}

// findRunner waits for the runner that the server starts.
func (y *yuba) findRunner(ctx context.Context) error {
	deadline, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		runners := proctest.Matching(func(p proctest.Process) bool { return p.Program == "yuba-runner" && strings.Contains(p.Line, y.dir) })
		if len(runners) > 0 {
			y.runner = runners[0].PID
			return nil
		}
		select {
		case <-ticker.C:
		case <-deadline.Done():
			return fmt.Errorf("find the runner: %w", deadline.Err())
		}
	}
}

func (y *yuba) kubeconfig() string { return filepath.Join(y.dir, "kubeconfig") }

// cpu is the CPU time of all of Yuba's processes, including ended tofu processes.
func (y *yuba) cpu() (time.Duration, error) {
	server, err := cpuOf(y.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	runner, err := cpuOf(y.runner)
	return server + runner, err
}

// spent is the CPU time of all of Yuba's processes, and the parts of server and runner.
func (y *yuba) spent() (spent, error) {
	server, others, err := cpuParts(y.cmd.Process.Pid)
	if err != nil {
		return spent{}, err
	}
	runner, tools, err := cpuParts(y.runner)
	return spent{total: server + others + runner + tools, server: server, runner: runner}, err
}

// stop ends the server; an idle runner ends with it.
func (y *yuba) stop() error {
	if err := y.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := y.cmd.Wait()
	if p, findErr := os.FindProcess(y.runner); findErr == nil {
		_ = p.Kill() // it has already ended
	}
	return err
}
