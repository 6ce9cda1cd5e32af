// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"sigs.k8s.io/yaml"
)

// cloudConfig is the part of a cloud-config that machines here understand. Another key is an error: it would be
// forgotten otherwise.
type cloudConfig struct {
	Hostname          string      `json:"hostname"`
	ManageEtcHosts    bool        `json:"manage_etc_hosts"`
	SSHPasswords      bool        `json:"ssh_pwauth"`
	DisableRoot       bool        `json:"disable_root"`
	SSHAuthorizedKeys []string    `json:"ssh_authorized_keys"` // machines here have no SSH
	WriteFiles        []cloudFile `json:"write_files"`
	RunCmd            [][]string  `json:"runcmd"`
}

type cloudFile struct {
	Path        string `json:"path"`
	Content     string `json:"content"`
	Permissions string `json:"permissions"`
}

// cloudInitCommand runs in the machine, and says on its console how it went.
func cloudInitCommand(dir string) error {
	userData, err := os.ReadFile(filepath.Join(dir, "user-data"))
	if err != nil {
		return err
	}
	if err := cloudInit(userData); err != nil {
		return fmt.Errorf("cloud-init: %w", err)
	}
	fmt.Fprintln(os.Stdout, "cloud-init: done")
	return nil
}

// cloudInit does what a cloud-config says, in the order of cloud-init: host name, files, commands.
func cloudInit(userData []byte) error {
	text, ok := bytes.CutPrefix(userData, []byte("#cloud-config\n"))
	if !ok {
		return errors.New("the user data does not begin with #cloud-config")
	}
	var c cloudConfig
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return fmt.Errorf("read the cloud-config: %w", err)
	}
	if err := syscall.Sethostname([]byte(c.Hostname)); err != nil {
		return fmt.Errorf("set the host name %q: %w", c.Hostname, err)
	}
	if c.ManageEtcHosts {
		hosts := "127.0.0.1 localhost\n127.0.1.1 " + c.Hostname + "\n"
		if err := os.WriteFile("/etc/hosts", []byte(hosts), 0o644); err != nil {
			return err
		}
	}
	for _, f := range c.WriteFiles {
		if err := f.write(); err != nil {
			return fmt.Errorf("write_files: %w", err)
		}
	}
	// As cloud-init does it: one script, which goes on after a command that fails, and fails as the last one does.
	var last error
	for _, args := range c.RunCmd {
		if len(args) == 0 {
			return errors.New("runcmd: a command is empty")
		}
		if last = child(args[0], args[1:]...).Run(); last != nil {
			last = fmt.Errorf("runcmd: %s: %w", strings.Join(args, " "), last)
			fmt.Fprintln(os.Stdout, "cloud-init:", last)
		}
	}
	return last
}

func (f cloudFile) write() error {
	mode, err := strconv.ParseUint(f.Permissions, 8, 32)
	if err != nil {
		return fmt.Errorf("%s: permissions %q: %w", f.Path, f.Permissions, err)
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(f.Path, []byte(f.Content), os.FileMode(mode)); err != nil {
		return err
	}
	return os.Chmod(f.Path, os.FileMode(mode))
}
