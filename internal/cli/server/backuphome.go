// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/steps"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/version"
)

// A Yuba in a cluster has no data directory: its objects are the cluster's, and its blobs are in a
// bucket. A backup of it has the namespaces that Yuba works on. So has the backup of one namespace.

// backupNamespaces writes the namespaces of a home to a stream.
func backupNamespaces(ctx context.Context, s *session.Session, w io.Writer) error {
	side, err := steps.Connect(ctx, s.Config.Host, s.Config)
	if err != nil {
		return err
	}
	namespaces := []string{s.NamespaceFlag()}
	if namespaces[0] == "" {
		if namespaces, err = side.Namespaces(ctx); err != nil {
			return err
		}
	}
	done, err := side.Backup(ctx, w, namespaces, version.String(), s.News)
	if err != nil {
		return err
	}
	s.News("The backup has %s with the contents of %s from %s, and no keys.",
		ui.Count(done.Objects, "object"), ui.Count(done.Stacks, "stack"), ui.Count(done.Namespaces, "namespace"))
	return nil
}

// firstPassPatience is how long a restore waits for the first passes, besides some time for each stack.
const firstPassPatience = 2 * time.Minute

// restoreNamespaces restores a backup of namespaces; done is false if the file is something else.
func restoreNamespaces(ctx context.Context, a *session.App, yes, suspended bool, name string, file *os.File) (done bool, err error) {
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	from, namespaces, err := steps.OpenBackup(name, file, info.Size())
	if errors.Is(err, steps.ErrNoBackup) {
		return false, nil // the server says what is wrong with another file
	}
	if err != nil {
		return true, err
	}
	s, err := a.Connect()
	if err != nil {
		return true, err
	}
	to, err := steps.Connect(ctx, s.Config.Host, s.Config)
	if err != nil {
		return true, err
	}
	if only := a.NamespaceFlag(); only != "" {
		namespaces = []string{only}
	}
	m := &steps.Mover{From: from, To: to, Namespaces: namespaces, Settle: firstPassPatience, News: a.News, Confirm: func(r steps.Report) error {
		question := fmt.Sprintf("%d objects of %s are created at %s.", r.Count(decide.VerbCreate)+r.Count(decide.VerbUpdate), ui.Count(len(namespaces), "namespace"), to.Name)
		if !suspended {
			question += " Stacks work there at once, so the home of the backup must be gone or stopped."
		}
		return a.MustConfirm(yes, question)
	}}
	summary, err := m.Restore(ctx, suspended)
	var refused *steps.RefusedError
	if errors.As(err, &refused) {
		for _, item := range refused.Report.Items {
			if item.Verb == decide.VerbConflict || item.Verb == decide.VerbBlocked {
				a.News("%s %s/%s: %s", item.Kind, item.Namespace, item.Name, item.Why)
			}
		}
		return true, ui.WithCode(ui.ExitWaiting, fmt.Errorf("restore %s: %w", name, err))
	}
	if err != nil {
		return true, fmt.Errorf("restore %s: %w.\nTo continue, run the same command again", name, err)
	}
	for _, stack := range summary.Stacks {
		if stack.Pass == steps.PassAttention {
			a.News("%s/%s needs attention: %s", stack.Namespace, stack.Name, ui.FirstLine(stack.Message, 200))
		}
	}
	if n := summary.Open(); n > 0 {
		a.News("The first pass of %s has not ended yet. Check with: yuba list -A", ui.Count(n, "stack"))
	}
	a.News("Restored %d objects at %s.", summary.Counts[decide.VerbCreate]+summary.Counts[decide.VerbUpdate], to.Name)
	return true, nil
}
