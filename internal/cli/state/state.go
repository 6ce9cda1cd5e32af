// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// NewStateCommand is "yuba state".
func NewStateCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use:     "state COMMAND",
		Short:   "Inspect and change a stack's state",
		Long:    "Inspect a stack's state, list its stored versions, roll back to one of them, and change the state without changing the real infrastructure.",
		Example: "  yuba state list vpc\n  yuba state history vpc",
	}, newStatePullCommand(a), newStateListCommand(a), newStateShowCommand(a), newStateHistoryCommand(a),
		newStateMoveCommand(a), newStateRemoveCommand(a), newStateImportCommand(a), newStatePushCommand(a), newStateRollbackCommand(a),
		newStateTaintCommand(a), newStateUntaintCommand(a), newStateReplaceProviderCommand(a), newStateRefreshCommand(a), newStateRestoreCommand(a), newStateUndoCommand(a), newStateGraphCommand(a),
		newStateAdoptCommand(a), newStateDropCommand(a), newStateAtCommand(a), newStateDiffCommand(a), newStateBlameCommand(a), newStateMigrateCommand(a))
}

func newStatePullCommand(a *session.App) *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use:     "pull NAME",
		Short:   "Write the state to standard output",
		Long:    "Write the state, or one of its versions, to standard output. It contains sensitive values in clear text.",
		Example: "  yuba state pull vpc > vpc.tfstate\n  yuba state pull vpc --version 01767225600000000000-4",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.Flags().StringVar(&version, "version", "", "the version to write; \"yuba state history\" lists them")
	ui.CompleteFlag(cmd, "version", a.AboutStack(stateVersions))
	cmd.RunE = a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, _ []string) error {
		data, err := s.Content.State(ctx, key.Namespace, key.Name, version)
		if err != nil {
			return fmt.Errorf("read the state of %s: %w", key, err)
		}
		_, err = s.Out.Write(data)
		return err
	})
	return cmd
}

// stateFile reads the state, or a version of it.
func stateFile(ctx context.Context, s *session.Session, key types.NamespacedName, version string) (*statefile.File, error) {
	data, err := s.Content.State(ctx, key.Namespace, key.Name, version)
	if err != nil {
		return nil, fmt.Errorf("read the state of %s: %w", key, err)
	}
	file, err := statefile.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read the state of %s: %w", key, err)
	}
	if file.Encrypted {
		return file, ui.Exitf(ui.ExitFailure, "OpenTofu encrypted the state of %s, and only tofu can read it. Get its bytes with:\n    yuba state pull %s", key, s.Call(key))
	}
	return file, nil
}

func newStateListCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list NAME [ADDRESS]...",
		Short: "List the resources in the state",
		Long: `List the addresses of the resources in the state, or of those at or below the addresses given. For a custom backend, a run
of the stack reads the state there.`,
		Example: "  yuba state list vpc\n  yuba state list vpc module.subnets",
		Args:    ui.Arguments(1, -1), ValidArgsFunction: a.StackAnd(stateAddresses, true),
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, addresses []string) error {
		key := session.KeyOf(t)
		if t.KeepsOwnState() {
			rec, err := carryChange(ctx, s, key, run.StateChange{Verb: run.StateList, Args: addresses}, "")
			if err != nil {
				return err
			}
			return listRead(s, key, rec, out)
		}
		file, err := stateFile(ctx, s, key, "")
		if err != nil {
			return err
		}
		return listResources(s, listed(statefile.Below(file.Resources, addresses)), out)
	})
	return cmd
}

// listed are the resources of a state, without their attributes.
func listed(resources []statefile.Resource) []run.StateResource {
	list := make([]run.StateResource, 0, len(resources))
	for _, r := range resources {
		list = append(list, run.StateResource{Address: r.Address, Mode: r.Mode, Type: r.Type, Name: r.Name, Provider: r.ProviderAddr, ID: r.ID,
			Deposed: r.Deposed, Tainted: r.Tainted})
	}
	return list
}

// listRead lists what a run read. Programs must not take a part for the whole.
func listRead(s *session.Session, key types.NamespacedName, rec run.Record, out *ui.Output) error {
	for _, warning := range rec.Result.Warnings {
		s.News("Warning: %s", warning)
	}
	if err := listResources(s, slices.Concat([]run.StateResource{}, rec.Result.State), out); err != nil {
		return err
	}
	if more := rec.Result.StateMore; more > 0 && out.Machine() {
		return ui.Exitf(ui.ExitFailure, "the list is incomplete: it lacks %d resources. Name the addresses that you want:\n    yuba state list %s ADDRESS...", more, s.Call(key))
	}
	return nil
}

func listResources(s *session.Session, resources []run.StateResource, out *ui.Output) error {
	if out.Machine() && out.Form != "name" {
		return out.Print(s.Out, resources)
	}
	for _, r := range resources {
		mark := ""
		switch {
		case out.Machine():
		case r.Deposed != "":
			mark = " (deposed " + r.Deposed + ")"
		case r.Tainted:
			mark = " (tainted)"
		}
		fmt.Fprintln(s.Out, r.Address+mark)
	}
	return nil
}

func newStateShowCommand(a *session.App) *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME ADDRESS",
		Short:   "Show the attributes of one resource in the state",
		Long:    "Show the attributes of one resource in the state. Sensitive values are not shown. For a custom backend, a run of the stack reads the state.",
		Example: "  yuba state show vpc 'module.subnets.aws_subnet.private[\"a\"]'",
		Args:    ui.Arguments(2, 2), ValidArgsFunction: a.StackAnd(stateAddresses, false),
		RunE: a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, rest []string) error {
			key := session.KeyOf(t)
			if t.KeepsOwnState() {
				rec, err := carryChange(ctx, s, key, run.StateChange{Verb: run.StateShow, Args: rest}, "")
				if err == nil {
					fmt.Fprintln(s.Out, rec.Result.Text)
				}
				return err
			}
			file, err := stateFile(ctx, s, key, "")
			if err != nil {
				return err
			}
			resource, ok := file.Resource(rest[0])
			if !ok {
				return ui.Exitf(ui.ExitNotFound, "the state of %s has no resource %s. List them:\n    yuba state list %s", key, rest[0], s.Call(key))
			}
			return resource.Show(s.Out)
		}),
	}
}

func newStateHistoryCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "history NAME",
		Short:   "List the stored versions of the state",
		Long:    "List the stored versions of the state, newest first: each state that was ever written, by which run and why.",
		Example: "  yuba state history vpc\n  yuba state history vpc -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, _ []string) error {
		list, err := s.Content.Versions(ctx, key.Namespace, key.Name)
		if err != nil {
			return s.StackError("list the versions of the state of", key, err)
		}
		l := listing.List{None: "No version of the state of " + key.String() + " is stored.", Rows: [][]string{{"VERSION", "SERIAL", "SIZE", "AGE", "RUN", "WHY"}}}
		versions := make([]storedVersion, 0, len(list.Items))
		for _, v := range list.Items {
			versions = append(versions, storedVersion{v.ID, v.Time, v.Serial, v.Lineage, v.Digest, v.Size, v.Encrypted, v.RunID, v.Reason})
			l.Add(v.ID, v.ID, fmt.Sprint(v.Serial), ui.Size(v.Size), ui.Age(time.Now(), v.Time), v.RunID, v.Reason)
		}
		l.Answer = versions
		if list.Truncated {
			s.News("These are the newest %d versions. The server stores older ones, too, and does not list them.", len(versions))
		}
		return l.Show(s.Console, out)
	})
	return cmd
}

// storedVersion is a version of a state in the answer for programs.
type storedVersion struct {
	ID        string    `json:"id"`
	Time      time.Time `json:"time"`
	Serial    uint64    `json:"serial"`
	Lineage   string    `json:"lineage"`
	Digest    string    `json:"digest"`
	Size      int64     `json:"size"`
	Encrypted bool      `json:"encrypted,omitempty"`
	Run       string    `json:"run,omitempty"`
	Reason    string    `json:"reason,omitempty"`
}
