// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	server "github.com/yuba-dev/yuba/internal/app"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/home/datadir"
)

// Home is the embedded home of a command that needs one for as long as it works.
type Home struct {
	options  server.UpOptions
	complete func(*session.App, *cobra.Command) error
}

// shownHomeFlags are the flags of "yuba up" in the help of such a command.
var shownHomeFlags = []string{"tofu", "tools", "fetch-tofu", "provider-mirror", "bundle", "bundle-digest", "call-home-address", "call-home-url", "allow-non-loopback"}

// AddHome gives a command the flags of "yuba up". The rare ones are not in its help. Ports are free ones, unless a
// flag names them.
func AddHome(cmd *cobra.Command) *Home {
	h := &Home{}
	before := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	h.complete = addUpFlags(cmd, &h.options)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = f.Hidden || !before[f.Name] && !slices.Contains(shownHomeFlags, f.Name)
	})
	h.options.APIAddress, h.options.HTTPAddress, h.options.Registry.Address = anyPort, anyPort, anyPort
	return h
}

const anyPort = "127.0.0.1:0"

// LogName is the file of a data directory with the log of a home that a command runs.
const LogName = "bootstrap.log"

// Serve runs the home until ctx ends. It calls ready when commands can use it. The log is in the data directory.
func (h *Home) Serve(ctx context.Context, a *session.App, cmd *cobra.Command, ready func()) (err error) {
	dir, err := datadir.Open(a.DataDirectory())
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(string(dir), LogName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of the server: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	quiet, console := *a, *a.Console
	console.Out, console.Err = io.Discard, log
	quiet.Console = &console
	if err := h.complete(&quiet, cmd); err != nil {
		return err
	}
	h.options.Ready = func(server.Addresses) { ready() }
	return server.Up(ctx, h.options)
}

// HolderOf returns the process that uses a data directory, and since when; 0 if none does, or it is about to say so.
func HolderOf(dir string) (pid int, since time.Time, held bool, err error) {
	holder, held, err := datadir.Dir(dir).Holder()
	return holder.PID, holder.Since, held, err
}
