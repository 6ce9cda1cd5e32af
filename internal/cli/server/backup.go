// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	server "github.com/yuba-dev/yuba/internal/app"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/home/datadir"
)

// NewBackupCommand is "yuba backup".
func NewBackupCommand(a *session.App) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up all data of Yuba to one file",
		Long: `Write all data of a running "yuba up" (objects, keys, states, logs, plans, archives) to one tar file. The file contains the
keys and all secrets: protect it like the data directory. "-" writes to standard output.

A Yuba in a cluster has no data directory. A backup of it has all namespaces with stacks, sources, Kustomizations or tenants:
their objects, Secrets, states with versions, histories and pending plans, as "yuba move" moves them. It does not contain keys;
the rest is in clear text. With -n, the backup has this one namespace, of any Yuba.`,
		Example: "  yuba backup yuba-2026-01-02.tar\n  yuba backup - | age -r AGE1… > backup.age\n  yuba backup prod.tar --context prod",
		Args:    ui.Arguments(1, 1),
		RunE: a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
			return backup(cmd.Context(), s, args[0])
		}),
	}
}

func backup(ctx context.Context, s *session.Session, file string) (err error) {
	write, with := func(w io.Writer) error { return backupNamespaces(ctx, s, w) }, "secrets"
	if s.NamespaceFlag() == "" {
		archive, err := s.Content.Backup(ctx)
		switch {
		case err == nil:
			defer archive.Close() //nolint:errcheck // read only
			write, with = func(w io.Writer) error { _, err := io.Copy(w, archive); return err }, "keys and secrets"
		case !apierrors.IsNotFound(err): // a server without a data directory
			return fmt.Errorf("back up: %w", err)
		}
	}
	if file == "-" {
		return write(s.Out)
	}
	// The file appears only when the backup is complete.
	temporary, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return fmt.Errorf("back up to %s: %w", file, err)
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // renamed after a success
	p := s.NewProgress("Backing up")
	err = write(io.MultiWriter(temporary, p))
	p.End()
	if err == nil {
		err = temporary.Sync()
	}
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("back up to %s: %w", file, err)
	}
	s.News("Backed up %s to %s. It contains %s: protect it.", ui.Size(p.Total()), file, with)
	return nil
}

// NewRestoreCommand is "yuba restore".
func NewRestoreCommand(a *session.App) *cobra.Command {
	var yes, suspended bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore all data of Yuba from a backup",
		Long: `Restore a backup to a running "yuba up". The server verifies it, restarts with it, and keeps its former data in its data
directory.

If no Yuba runs on the data directory that --data-dir or $YUBA_DATA_DIR names, the command verifies the backup and stages it
there; the next "yuba up" starts with it. This also restores a data directory that "yuba up" refuses.

A backup of the namespaces of a cluster is restored to a running Yuba of any home, which must not have other objects of these
names. An interrupted restore continues with the same command. With --suspended, stacks and Kustomizations stay suspended; a backup
with tenants is refused then, as they cannot be suspended. Without it, the home of the backup must be gone or stopped.`,
		Example: "  yuba restore yuba-2026-01-02.tar\n  yuba restore yuba-2026-01-02.tar --data-dir /var/lib/yuba",
		Args:    ui.Arguments(1, 1),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "restore without a question")
	cmd.Flags().BoolVar(&suspended, "suspended", false, "leave restored stacks and Kustomizations suspended (backups of namespaces only)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		archive, err := os.Open(args[0])
		if err != nil {
			return fmt.Errorf("restore: %w", err)
		}
		defer archive.Close() //nolint:errcheck // read only
		if info, err := archive.Stat(); err == nil && info.IsDir() {
			return ui.Exitf(ui.ExitFailure, "restore: %s is a directory", args[0])
		}
		if done, err := restoreNamespaces(cmd.Context(), a, yes, suspended, args[0], archive); done || err != nil {
			return err
		}
		if done, err := restoreStopped(a, yes, args[0], archive); done || err != nil {
			return err
		}
		s, err := a.Connect()
		if err != nil {
			return err
		}
		if err := s.MustConfirm(yes, "All data of this Yuba is replaced by "+args[0]+"."); err != nil {
			return err
		}
		before, err := s.Content.Server(cmd.Context())
		if err != nil {
			return fmt.Errorf("restore %s: %w", args[0], err)
		}
		if err := s.Content.Restore(cmd.Context(), archive); err != nil {
			return fmt.Errorf("restore %s: %w", args[0], err)
		}
		s.News("The backup is complete and accepted. Yuba restarts with it now; its former data stays in its data directory.")
		return awaitRestart(cmd.Context(), a, before.Started)
	}
	return cmd
}

// restoreStopped stages the backup for the next start, unless a Yuba runs on the data directory, or
// none is named. It does not create a missing directory, because its name may be a mistake.
func restoreStopped(a *session.App, yes bool, name string, archive io.Reader) (done bool, err error) {
	named := cmp.Or(a.DataDir, os.Getenv(session.DataDirVariable))
	if named == "" {
		return false, nil
	}
	running, err := server.Runs(named)
	if a.DataDir == "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) {
		return false, nil // try the kubeconfig instead
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("restore %s: there is no directory %s. To restore the backup to it, create it first:\n    mkdir -m 700 %s",
			name, named, datadir.Quoted(named))
	}
	if err != nil || running {
		return false, err
	}
	if err := a.MustConfirm(yes, "All data in "+named+" is replaced by "+name+" at the next start."); err != nil {
		return false, err
	}
	if err := server.StageRestore(named, archive); err != nil {
		return false, fmt.Errorf("restore %s: %w", name, err)
	}
	a.News("The backup is complete. The next start restores it and keeps the former data:\n    yuba up --data-dir %s", datadir.Quoted(named))
	return true, nil
}

// A restarting server is unreachable for some seconds, so it is polled.
const (
	restartPatience = 2 * time.Minute
	restartPause    = 250 * time.Millisecond
)

// awaitRestart returns when the restarted server answers. It reconnects each time, because the
// backup contains other keys and another kubeconfig.
func awaitRestart(ctx context.Context, a *session.App, before time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, restartPatience)
	defer cancel()
	for {
		info, err := a.ServerInfo(ctx)
		if err == nil && !info.Started.Equal(before) {
			a.News("Yuba runs with the restored data.")
			return nil
		}
		select {
		case <-time.After(restartPause):
		case <-ctx.Done():
			return fmt.Errorf("wait for Yuba to restart: it has not answered for %s (%w). See its log", restartPatience, err)
		}
	}
}
