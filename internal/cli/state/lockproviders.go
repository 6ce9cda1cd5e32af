// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// lockFileName is the dependency lock file that the tool reads beside a root module.
const lockFileName = ".terraform.lock.hcl"

// commonPlatforms are for completion.
var commonPlatforms = []string{"linux_amd64", "linux_arm64", "darwin_arm64", "darwin_amd64", "windows_amd64"}

// NewProvidersLockCommand is "yuba providers lock".
func NewProvidersLockCommand(a *session.App) *cobra.Command {
	var platforms []string
	var to string
	var out *ui.Output
	cmd := &cobra.Command{
		Use:   "lock NAME",
		Short: "Write the dependency lock file of a stack, for several platforms",
		Long: `Write the dependency lock file of a stack's program, .terraform.lock.hcl, so that you can commit it beside the program. It has the
versions that the stack's runs use, with the hashes for the platforms of the runner and of --platform, as "tofu providers lock"
writes them. The server gets the providers from where the stack's runs get them: the mirror of the server, its registry, or a
directory of the machine.

It is a run of its own on the server. It changes neither the state nor the lock file that runs use until you commit yours. You need
the right to create terraforms/change.`,
		Example: "  yuba providers lock vpc --platform linux_amd64 --platform darwin_arm64 >.terraform.lock.hcl\n  yuba providers lock vpc --to environments/prod",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.Flags().StringSliceVar(&platforms, "platform", nil, "a platform that the lock file is for, such as darwin_arm64 (repeatable; default this machine's)")
	cmd.Flags().StringVar(&to, "to", "", "write the file into this directory (default standard output)")
	out = ui.AddOutputFlag(cmd, "json", "yaml")
	ui.CompleteFlag(cmd, "platform", cobra.FixedCompletions(commonPlatforms, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, _ []string) error {
		if len(platforms) == 0 {
			platforms = []string{runtime.GOOS + "_" + runtime.GOARCH}
		}
		change := run.StateChange{Verb: run.StateProvidersLock, Args: platforms, Preview: true}
		if err := change.Check(); err != nil {
			return ui.UsageErrorf(cmd, "%w", err)
		}
		if err := isDirectory(to); err != nil {
			return ui.UsageErrorf(cmd, "%w", err)
		}
		rec, err := carryChange(ctx, s, key, change, "")
		if err != nil {
			return err
		}
		return tellLockFile(s, key, lockAnswer{Run: rec.Spec.ID, Platforms: platforms, LockFile: rec.Result.Text}, to, out)
	})
	return cmd
}

// lockAnswer is the answer for programs.
type lockAnswer struct {
	Run       string   `json:"run"`
	Platforms []string `json:"platforms"`
	// LockFile is the file's text; empty if the program needs no providers.
	LockFile string `json:"lockFile"`
	// File is where it was written; empty for nowhere.
	File string `json:"file,omitempty"`
}

// isDirectory refuses a place for the file before the server works for it.
func isDirectory(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", lockFileName, err)
	}
	return nil
}

func tellLockFile(s *session.Session, key types.NamespacedName, answer lockAnswer, to string, out *ui.Output) error {
	if answer.LockFile == "" {
		s.News("There is nothing to lock: the program of %s needs no providers but those that are part of tofu.", key)
	} else if to != "" {
		answer.File = filepath.Join(to, lockFileName)
		if err := datadir.WriteFile(answer.File, []byte(answer.LockFile), 0o644); err != nil {
			return err
		}
	}
	switch {
	case out.Machine():
		return out.Print(s.Out, answer)
	case answer.File != "":
		s.News("%s has the hashes for %s. Commit it.", answer.File, strings.Join(answer.Platforms, ", "))
	default:
		fmt.Fprint(s.Out, answer.LockFile)
	}
	return nil
}
