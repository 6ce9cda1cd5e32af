// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// place is the directory, the user and the certificates of a server.
type place struct {
	dir string
	// as is the user of the server; nil for that of the test.
	as                        *syscall.Credential
	authority, server, client pair
}

func newPlace(users []string) (*place, error) {
	p := &place{}
	base := os.TempDir()
	if os.Geteuid() == 0 {
		var err error
		if p.as, err = somebodyElse(users); err != nil {
			return nil, err
		}
		base = "/tmp" // other users may not be able to enter $TMPDIR
	}
	var err error
	// The path must be short: that of a socket has at most 108 bytes.
	if p.dir, err = os.MkdirTemp(base, "yuba-db-"); err != nil {
		return nil, err
	}
	if err := p.prepare(); err != nil {
		os.RemoveAll(p.dir) //nolint:errcheck // the first error counts
		return nil, err
	}
	return p, nil
}

func (p *place) prepare() error {
	if err := p.own(p.dir); err != nil {
		return err
	}
	var err error
	if p.authority, p.server, p.client, err = certificates(); err != nil {
		return err
	}
	for name, content := range map[string][]byte{"ca.crt": p.authority.certificate, "tls.crt": p.server.certificate, "tls.key": p.server.key} {
		if err := p.write(name, content); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file that only the server can read.
func (p *place) write(name string, content []byte) error {
	if err := os.WriteFile(p.path(name), content, 0o600); err != nil {
		return err
	}
	return p.own(p.path(name))
}

func (p *place) own(path string) error {
	if p.as == nil {
		return nil
	}
	return os.Chown(path, int(p.as.Uid), int(p.as.Gid))
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

// command is a program that runs here, and ends with the test binary.
func (p *place) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + p.dir, "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// somebodyElse is the first existing user of a list; nobody always exists.
func somebodyElse(users []string) (*syscall.Credential, error) {
	for _, name := range append(slices.Clone(users), "nobody") {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(found.Uid, 10, 32)
		if err != nil {
			continue
		}
		gid, err := strconv.ParseUint(found.Gid, 10, 32)
		if err != nil {
			continue
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("servers do not run as root, and there is no user of %q or nobody", users)
}

// find finds a program on PATH or in the directories of its package.
func find(program, install string, patterns ...string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(pattern, program))
		if err == nil && len(found) > 0 {
			return slices.Max(found), nil
		}
	}
	return "", fmt.Errorf("there is no %s on this machine. On Debian and its relatives:\n    apt-get install %s", program, install)
}
