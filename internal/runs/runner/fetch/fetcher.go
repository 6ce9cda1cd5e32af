// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/summary"
)

// Fetcher downloads for the stores. It uses no working directory, and may outlive its run.
type Fetcher struct {
	Tool tools.Tool
	// Sandbox confines the tool, Mirror is the machine's mirror; both may be empty.
	Sandbox, Mirror string
	Walls           confinement.Walls
	Users           *confinement.Users
	Limits          confinement.Limits
	Config          []byte
	Env             []run.EnvVar
	// Relay is for the network of the download, if it is isolated; its report is not set.
	Relay *confinement.Relay
	// Authorities are the stack's certificates.
	Authorities []Authority
	Mask        *mask.Masker
	// Registry is the server's registry; nil if the download does not use it.
	Registry *Registry
	// connection is that of the download. declined says why it does not use the server's mirror.
	connection *Connection
	declined   string
}

// maxFetch limits the download of one provider, maxFetchOutput the output that is kept.
const (
	maxFetch       = 30 * time.Minute
	maxFetchOutput = 1 << 20
)

// Provider makes the tool install one provider, without starting it or any code of the stack.
func (f *Fetcher) Provider(ctx context.Context, dir, mirror string, a providers.Address) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxFetch, fmt.Errorf("the download took longer than %s", maxFetch))
	defer cancel()
	config, err := fetchConfig(f.Config, mirror, a)
	if err != nil {
		return err
	}
	host, services, declined := f.Registry.Serves(ctx, a)
	if f, err = f.connected(host, services); err != nil {
		return err
	}
	f.declined = declined
	defer f.connection.Close()
	if config, err = f.connection.Config(config); err != nil {
		return err
	}
	if err := f.furnish(dir, string(config), nil); err != nil {
		return err
	}
	args := []string{"init", "-backend=false", "-input=false", "-no-color"}
	if f.Tool.JSONInit() {
		args = append(args, "-json")
	}
	_, err = f.run(ctx, dir, mirror, f.Tool.Path, args...)
	return err
}

// connected returns a fetcher that is connected to the registry for a host, if there are services.
func (f *Fetcher) connected(host string, at Services) (*Fetcher, error) {
	connection, err := f.Registry.Connect(host, at, f.Config)
	if err != nil {
		return nil, err
	}
	with := *f
	with.connection = connection
	return &with, nil
}

// downloadPatience limits the wait for the end of a stopped download and of its output.
const downloadPatience = 10 * time.Second

// runToEnd runs a download, and ends the processes that it leaves.
func (f *Fetcher) runToEnd(cmd *exec.Cmd, cell confinement.Cell, dir string) error {
	started, err := f.Walls.StartRelay(cell, cmd)
	if err != nil {
		return err
	}
	running, err := confinement.Start(cmd)
	started()
	if err != nil {
		return err
	}
	process.AwaitChild(cmd.Process.Pid)
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // the unreaped leader reserves the group's number
	var left error
	if !f.Walls.Alone() { // else the kernel ended them
		_, left = confinement.EndLeft(confinement.Mark(dir), LeftPatience)
	}
	return errors.Join(running.Wait(downloadPatience), left)
}

// placeAuthorities puts the stack's certificates into the download's directory.
func (f *Fetcher) placeAuthorities(dir string) error {
	for _, a := range f.Authorities {
		for name, text := range a.files() {
			at := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(at, text, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// command returns a sandboxed call of the tool or another program.
func (f *Fetcher) command(ctx context.Context, dir, mirror, program string, call ...string) (cmd *exec.Cmd, cell confinement.Cell, out, errs *Bounded, err error) {
	user := 0
	if f.Walls.Users {
		if user, err = f.Users.Next(); err != nil {
			return nil, cell, nil, nil, err
		}
		if err := workspace.GiveTree(dir, user); err != nil {
			return nil, cell, nil, nil, fmt.Errorf("give %s to its user: %w", dir, err)
		}
	}
	out, errs = &Bounded{Limit: maxFetchOutput}, &Bounded{Limit: maxFetchOutput}
	executable := append([]string{f.Tool.Path}, SystemExecutable...)
	for _, path := range []string{f.Mirror, mirror} {
		if path != "" {
			executable = append(executable, path)
		}
	}
	cell = confinement.Cell{
		User: user, Dir: dir, Home: filepath.Join(dir, "home"), Temp: filepath.Join(dir, "tmp"), Background: true,
		Writable: append([]string{dir}, SystemWritable...), Executable: executable, Readable: SystemReadable, Limits: f.Limits, Mark: confinement.Mark(dir),
	}
	if f.Relay != nil {
		cell.NoNetwork, cell.Relay = true, f.connection.Relay(f.Relay)
	}
	cell.Environment = []string{"PATH=" + tools.SystemPath, "HOME=" + f.Walls.HomeOf(cell), "TMPDIR=" + f.Walls.TempOf(cell), "LANG=C.UTF-8", "TF_IN_AUTOMATION=1",
		"TF_INPUT=0", "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=" + filepath.Join(dir, workspace.CLIConfigName)}
	if f.connection != nil {
		cell.Environment = append(cell.Environment, Patience)
	}
	for _, e := range f.Env { // the last value of a name counts
		cell.Environment = append(cell.Environment, e.Name+"="+e.Value)
	}
	for _, a := range f.Authorities {
		cell.Environment = append(cell.Environment, a.variable(dir))
	}
	cmd = f.Walls.Command(ctx, cell, program, call...)
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = downloadPatience
	return cmd, cell, out, errs, nil
}

// problem is the tool's error, masked. It matches ENOSPC if the tool reported a full disk.
func (f *Fetcher) problem(out, errs *Bounded, notices []string, ended error) error {
	var stream plan.Stream
	for line := range bytes.Lines(out.Bytes()) {
		stream.Feed(bytes.TrimRight(line, "\r\n"))
	}
	said := stream.Errors()
	text := said.Error()
	if text == "" {
		lines := strings.Split(strings.TrimSpace(string(errs.Bytes())), "\n")
		text = strings.TrimSpace(strings.Join(lines[max(0, len(lines)-20):], "\n"))
		said = summary.Printed(lines)
	}
	text = explained(cmp.Or(text, ended.Error()), notices)
	text = strings.Join(append([]string{text}, f.connection.Problems()...), "\n")
	if f.declined != "" {
		text += "\n" + f.declined
	}
	err := errors.New(f.Mask.Text(text))
	if summary.DiskFull(said) {
		return fullDisk{err}
	}
	return err
}

// fullDisk is a tool's error about a full disk.
type fullDisk struct{ error }

// Is matches the kernel's error.
func (fullDisk) Is(target error) bool { return target == unix.ENOSPC }

// Authority is an environment variable that names certificates in the stack's own directories.
type Authority struct {
	Name string `json:"name"`
	// Files are the certificates by name. Dir is true if the variable names a directory.
	Files map[string][]byte `json:"files"`
	Dir   bool              `json:"dir,omitempty"`
}

const (
	// AuthorityPrefix matches SSL_CERT_FILE and SSL_CERT_DIR.
	AuthorityPrefix = "SSL_CERT_"
	// Limits for a stack's certificates.
	MaxCertificates     = 500
	MaxCertificateBytes = 4 << 20
	// authoritiesDir has the certificates in a download's directory.
	authoritiesDir = "authorities"
)

// files returns the certificates by path in a download's directory.
func (a Authority) files() map[string][]byte {
	files := make(map[string][]byte, len(a.Files))
	for name, text := range a.Files {
		files[path.Join(authoritiesDir, a.Name, name)] = text
	}
	return files
}

// variable returns the environment variable for a download.
func (a Authority) variable(dir string) string {
	name := path.Join(authoritiesDir, a.Name)
	if !a.Dir {
		name = path.Join(name, "ca.pem")
	}
	return a.Name + "=" + filepath.Join(dir, filepath.FromSlash(name))
}

// Bounded keeps output up to its limit and drops the rest, so that the writer does not fail. It
// does not embed bytes.Buffer, whose other methods would bypass the limit.
type Bounded struct {
	text  bytes.Buffer
	Limit int64
	Over  bool
}

func (b *Bounded) Write(p []byte) (int, error) {
	keep := min(int64(len(p)), b.Limit-int64(b.text.Len()))
	b.Over = b.Over || keep < int64(len(p))
	b.text.Write(p[:keep])
	return len(p), nil
}

// Reset drops the kept output.
func (b *Bounded) Reset() {
	b.text.Reset()
	b.Over = false
}

// Bytes returns the kept output.
func (b *Bounded) Bytes() []byte { return b.text.Bytes() }
