// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// systemctl stands in for systemd's: it reloads nothing, and starts services of /etc/systemd/system.
func systemctl(args []string) error {
	var names []string
	for _, a := range args[min(1, len(args)):] {
		if !strings.HasPrefix(a, "-") {
			names = append(names, strings.TrimSuffix(a, ".service"))
		}
	}
	switch {
	case len(args) == 1 && args[0] == "daemon-reload":
		return nil
	case len(args) > 1 && (args[0] == "enable" || args[0] == "start") && len(names) == 1:
		cmd := child("local-machines", "service", names[0])
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd.Start()
	}
	return fmt.Errorf("systemctl %s: a machine of local-machines does not understand this", strings.Join(args, " "))
}

var execStart = regexp.MustCompile(`(?m)^ExecStart=(.+)$`)

// superviseService runs a service and starts it again when it ends, as Restart=always says.
func superviseService(ctx context.Context, name string) error {
	unit, err := os.ReadFile("/etc/systemd/system/" + name + ".service")
	if err != nil {
		return err
	}
	found := execStart.FindSubmatch(unit)
	if found == nil {
		return fmt.Errorf("the service %s has no ExecStart", name)
	}
	command := strings.Fields(string(found[1]))
	for {
		cmd := child(command[0], command[1:]...)
		began := time.Now()
		err := cmd.Run()
		if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
			return fmt.Errorf("start %s: %w", command[0], err)
		}
		fmt.Fprintf(os.Stdout, "systemd: %s.service ended after %s: %v\n", name, time.Since(began).Round(time.Second), err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(5 * time.Second):
		}
	}
}
