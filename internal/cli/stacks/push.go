// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// NewPushCommand is "yuba push".
func NewPushCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "push DIR NAME",
		Short: "Store a directory as a source that stacks can use",
		Long: `Pack a directory and store it as the ExternalArtifact NAME, which stacks name in their sourceRef. Yuba plans the stacks that
use it. The same files always have the same digest.

The command honours .gitignore and .terraformignore, and always omits .git, .terraform and state files.

"yuba push artifact" pushes to an OCI registry instead; push a directory of that name as ./artifact.`,
		Example: "  yuba push . modules\n  yuba push ./network team-a/network -o json",
		Args:    ui.Arguments(2, 2), ValidArgsFunction: ui.Directories,
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		key, err := s.Stack(cmd, args[1])
		if err != nil {
			return err
		}
		pushed, err := push(cmd.Context(), s, args[0], key)
		if err != nil {
			return err
		}
		return showPushed(s, key, pushed, out)
	})
	return cmd
}

func showPushed(s *session.Session, key types.NamespacedName, pushed content.Pushed, out *ui.Output) error {
	switch {
	case out.Form == "name":
		fmt.Fprintln(s.Out, "externalartifact.source.toolkit.fluxcd.io/"+key.Name)
		return nil
	case out.Machine():
		return out.Print(s.Out, pushed)
	}
	fmt.Fprintln(s.Out, pushed.Revision)
	if pushed.Changed {
		s.News("Stored %s as ExternalArtifact %s.", ui.Size(pushed.Size), key)
	} else {
		s.News("ExternalArtifact %s is unchanged: it already has the same files.", key)
	}
	return nil
}

// PushDirectory stores a directory as an ExternalArtifact, for other commands, and reports whether it changed.
func PushDirectory(ctx context.Context, s *session.Session, dir string, key types.NamespacedName) (changed bool, err error) {
	pushed, err := push(ctx, s, dir, key)
	return pushed.Changed, err
}

// push packs a directory into a file, so that it is complete and within limits before it is sent.
func push(ctx context.Context, s *session.Session, dir string, key types.NamespacedName) (_ content.Pushed, err error) {
	packed, err := os.CreateTemp("", "yuba-push-*.tar.gz")
	if err != nil {
		return content.Pushed{}, fmt.Errorf("push %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, packed.Close(), os.Remove(packed.Name())) }()
	_, stats, err := archive.Pack(ctx, dir, packed, archive.PackOptions{MaxPacked: maxPushed})
	if err != nil {
		return content.Pushed{}, err
	}
	if stats.Files == 0 {
		return content.Pushed{}, fmt.Errorf("push %s: it contains only ignored files", dir)
	}
	pushed, err := s.Content.Push(ctx, key.Namespace, key.Name, packed)
	if apierrors.IsNotFound(err) {
		return pushed, ui.Exitf(ui.ExitNotFound, "push %s to %s: %w\nIf the namespace does not exist, create it:\n    yuba kubectl create namespace %s", dir, key, err, key.Namespace)
	}
	if err != nil {
		return pushed, fmt.Errorf("push %s to %s: %w", dir, key, err)
	}
	return pushed, nil
}

// maxPushed keeps a mistake, such as pushing a home directory, from filling the disk. The server
// has the real limit (--max-archive).
const maxPushed = 16 << 30
