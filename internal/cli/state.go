// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/tofu/state"
)

func newStateCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "state COMMAND",
		Short:   "Look into a stack's state and its history, and change it",
		Long:    "Look into a stack's state, list its stored versions, go back to one of them, and change the state without changing the world.",
		Example: "  yuba state list vpc\n  yuba state history vpc",
		Args:    noSuchCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newStatePullCommand(a), newStateListCommand(a), newStateShowCommand(a), newStateHistoryCommand(a),
		newStateMoveCommand(a), newStateRemoveCommand(a), newStateImportCommand(a), newStatePushCommand(a), newStateRollbackCommand(a),
		newStateAdoptCommand(a), newStateDropCommand(a))
	return cmd
}

func newStatePullCommand(a *app) *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use:     "pull NAME",
		Short:   "Write the state to standard output",
		Long:    "Write the state, or one of its versions, to standard output. It holds sensitive values in the clear.",
		Example: "  yuba state pull vpc > vpc.tfstate\n  yuba state pull vpc --version 01767225600000000000-4",
		Args:    arguments(1, 1), ValidArgsFunction: a.stackNames(false),
	}
	cmd.Flags().StringVar(&version, "version", "", "the version to write; \"yuba state history\" lists them")
	completeFlag(cmd, "version", a.aboutStack(stateVersions))
	cmd.RunE = a.onStack(nil, func(ctx context.Context, s *session, key types.NamespacedName, _ []string) error {
		data, err := s.content.State(ctx, key.Namespace, key.Name, version)
		if err != nil {
			return fmt.Errorf("read the state of %s: %w", key, err)
		}
		_, err = s.out.Write(data)
		return err
	})
	return cmd
}

// stateFile reads the state, or a version of it.
func (s *session) stateFile(ctx context.Context, key types.NamespacedName, version string) (*state.File, error) {
	data, err := s.content.State(ctx, key.Namespace, key.Name, version)
	if err != nil {
		return nil, fmt.Errorf("read the state of %s: %w", key, err)
	}
	file, err := state.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read the state of %s: %w", key, err)
	}
	if file.Encrypted {
		return file, exitf(exitError, "the state of %s is encrypted by OpenTofu, and only tofu can read it. Its bytes are had with:\n    yuba state pull %s", key, s.call(key))
	}
	return file, nil
}

func newStateListCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list NAME [ADDRESS]...",
		Short:   "List the resources in the state",
		Long:    "List the addresses of the resources in the state, or of those at or below the addresses given.",
		Example: "  yuba state list vpc\n  yuba state list vpc module.subnets",
		Args:    arguments(1, -1), ValidArgsFunction: a.stackAnd(stateAddresses, true),
	}
	out := addOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.onStack(out, func(ctx context.Context, s *session, key types.NamespacedName, addresses []string) error {
		file, err := s.stateFile(ctx, key, "")
		if err != nil {
			return err
		}
		return s.listResources(resourcesBelow(file, addresses), out)
	})
	return cmd
}

// listedResource is a resource in the machine's answer: what it is, not what it holds.
type listedResource struct {
	Address  string `json:"address"`
	Mode     string `json:"mode"`
	Type     string `json:"type"`
	Name     string `json:"name"`
	Provider string `json:"provider"`
	ID       string `json:"id,omitempty"`
	Deposed  string `json:"deposed,omitempty"`
	Tainted  bool   `json:"tainted,omitempty"`
}

func (s *session) listResources(resources []state.Resource, out *output) error {
	if out.machine() && out.form != "name" {
		listed := make([]listedResource, 0, len(resources))
		for _, r := range resources {
			listed = append(listed, listedResource{r.Address, r.Mode, r.Type, r.Name, r.ProviderAddr, r.ID, r.Deposed, r.Tainted})
		}
		return out.print(s.out, listed)
	}
	for _, r := range resources {
		mark := ""
		switch {
		case out.machine():
		case r.Deposed != "":
			mark = " (deposed " + r.Deposed + ")"
		case r.Tainted:
			mark = " (tainted)"
		}
		fmt.Fprintln(s.out, r.Address+mark)
	}
	return nil
}

// resourcesBelow are those whose address is one of the addresses or continues it.
func resourcesBelow(file *state.File, addresses []string) []state.Resource {
	if len(addresses) == 0 {
		return file.Resources
	}
	var found []state.Resource
	for _, r := range file.Resources {
		for _, address := range addresses {
			rest, ok := strings.CutPrefix(r.Address, address)
			if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				found = append(found, r)
				break
			}
		}
	}
	return found
}

func newStateShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME ADDRESS",
		Short:   "Show the attributes of one resource in the state",
		Long:    "Show the attributes of one resource in the state. Sensitive values are not shown.",
		Example: "  yuba state show vpc 'module.subnets.aws_subnet.private[\"a\"]'",
		Args:    arguments(2, 2), ValidArgsFunction: a.stackAnd(stateAddresses, false),
		RunE: a.onStack(nil, func(ctx context.Context, s *session, key types.NamespacedName, rest []string) error {
			file, err := s.stateFile(ctx, key, "")
			if err != nil {
				return err
			}
			resource, ok := file.Resource(rest[0])
			if !ok {
				return exitf(exitNotFound, "the state of %s has no resource %s. See which ones there are:\n    yuba state list %s", key, rest[0], s.call(key))
			}
			return resource.Show(s.out)
		}),
	}
}

func newStateHistoryCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "history NAME",
		Short:   "List the stored versions of the state",
		Long:    "List the stored versions of the state, newest first: each state that was ever written, by which run and why.",
		Example: "  yuba state history vpc\n  yuba state history vpc -o json",
		Args:    arguments(1, 1), ValidArgsFunction: a.stackNames(false),
	}
	out := addTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.onStack(out, func(ctx context.Context, s *session, key types.NamespacedName, _ []string) error {
		list, err := s.content.Versions(ctx, key.Namespace, key.Name)
		if err != nil {
			return s.stackError("list the versions of the state of", key, err)
		}
		return s.showHistory(key, list.Items, out)
	})
	return cmd
}

// storedVersion is a version of a state in the machine's answer.
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

func (s *session) showHistory(key types.NamespacedName, versions []state.Version, out *output) error {
	switch {
	case out.form == "name":
		for _, v := range versions {
			fmt.Fprintln(s.out, v.ID)
		}
		return nil
	case out.machine():
		listed := make([]storedVersion, 0, len(versions))
		for _, v := range versions {
			listed = append(listed, storedVersion{v.ID, v.Time, v.Serial, v.Lineage, v.Digest, v.Size, v.Encrypted, v.RunID, v.Reason})
		}
		return out.print(s.out, listed)
	case len(versions) == 0:
		s.news("No version of the state of %s is stored.", key)
		return nil
	}
	rows := [][]string{{"VERSION", "SERIAL", "SIZE", "AGE", "RUN", "WHY"}}
	for _, v := range versions {
		rows = append(rows, []string{v.ID, fmt.Sprint(v.Serial), size(v.Size), age(time.Now(), v.Time), v.RunID, v.Reason})
	}
	return s.table(rows, out)
}
