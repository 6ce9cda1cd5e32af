// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/config/crd"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/home/install"
)

// NewCRDsCommand is "yuba crds".
func NewCRDsCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use:   "crds",
		Short: "Install Yuba's kinds in a cluster",
		Long: `Install Yuba's kinds (CustomResourceDefinitions) in the cluster of the kubeconfig, check what an installation would do, or
print them. "yuba up" installs them itself.`,
		Example: "  yuba crds check\n  yuba crds install\n  yuba crds print | kubectl apply --server-side -f -",
	}, newCRDsInstallCommand(a), newCRDsCheckCommand(a), newCRDsPrintCommand(a))
}

// crdFlags select the kinds, and say what may happen to installed ones.
type crdFlags struct {
	flux   bool
	rights install.Rights
}

func (f *crdFlags) addTo(cmd *cobra.Command) {
	f.addFlux(cmd)
	cmd.Flags().BoolVar(&f.rights.DropFields, "drop-fields", false, "replace kinds that are newer than Yuba's; the API drops their additional fields from all objects")
	cmd.Flags().BoolVar(&f.rights.TakeTenants, "take-tenants", false, "also replace the kinds that a Tenant Operator installed")
}

func (f *crdFlags) addFlux(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.flux, "flux", false, "also Flux's kinds, for a cluster without Flux in which Yuba fetches the sources")
}

func (f *crdFlags) kinds() fs.FS {
	if f.flux {
		return crd.All
	}
	return crd.FS
}

func newCRDsInstallCommand(a *session.App) *cobra.Command {
	var f crdFlags
	var roles bool
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install or upgrade Yuba's kinds",
		Long: `Install or upgrade Yuba's kinds in the cluster of the kubeconfig, with server-side apply. Objects are kept.

The kind Terraform replaces that of tofu-controller. Kinds that Flux or a Tenant Operator installed stay. If an installed kind
has a version or fields that Yuba's lacks, the command changes nothing and exits with code 6: the API would drop these fields
from all objects.`,
		Example: "  yuba crds install\n  yuba crds install --roles --kubeconfig cluster.kubeconfig",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	f.addTo(cmd)
	cmd.Flags().BoolVar(&roles, "roles", false, "also extend the cluster roles view, edit and admin to Yuba's kinds")
	return crdsCommand(a, cmd, func(ctx context.Context, config *rest.Config) ([]install.Step, error) {
		steps, err := install.Takeover(ctx, config, f.kinds(), f.rights)
		if err != nil || !roles {
			return steps, err
		}
		return steps, install.Roles(ctx, config)
	})
}

func newCRDsCheckCommand(a *session.App) *cobra.Command {
	var f crdFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Show what an installation of the kinds would do",
		Long: `Show what "yuba crds install" with the same flags would do with each kind, and why. The command changes nothing. It exits
with code 6 if the installation would refuse a kind.`,
		Example: "  yuba crds check\n  yuba crds check -o json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	f.addTo(cmd)
	return crdsCommand(a, cmd, func(ctx context.Context, config *rest.Config) ([]install.Step, error) {
		steps, err := install.Plan(ctx, config, f.kinds(), f.rights)
		if err != nil {
			return nil, err
		}
		return steps, install.Refused(steps)
	})
}

// crdsCommand shows the steps of work.
func crdsCommand(a *session.App, cmd *cobra.Command, work func(context.Context, *rest.Config) ([]install.Step, error)) *cobra.Command {
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		config, _, err := a.ClusterConfig()
		if err != nil {
			return err
		}
		steps, failure := work(cmd.Context(), config)
		if len(steps) > 0 {
			if err := printSteps(a, out, steps); err != nil {
				return err
			}
		}
		var refused *install.RefusedError
		if errors.As(failure, &refused) {
			return ui.Exitf(ui.ExitRefused, "%w", failure)
		}
		return session.ExplainCluster("read the installed kinds", failure)
	}
	return cmd
}

func printSteps(a *session.App, out *ui.Output, steps []install.Step) error {
	if out.Machine() {
		return out.Print(a.Out, struct {
			Items []install.Step `json:"items"`
		}{steps})
	}
	rows := [][]string{{"NAME", "ACTION", "WHY"}}
	for _, s := range steps {
		rows = append(rows, []string{s.Name, string(s.Verb), s.Reason})
		if s.Warning != "" {
			a.News("Warning: %s: %s", s.Name, s.Warning)
		}
	}
	return a.Table(rows, out)
}

func newCRDsPrintCommand(a *session.App) *cobra.Command {
	var f crdFlags
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print Yuba's kinds as YAML",
		Long: `Print Yuba's kinds as YAML, for tools that install them. Use server-side apply: the kinds are too large for the annotation
of a client-side one.`,
		Example: "  yuba crds print > crds.yaml\n  yuba crds print --flux | kubectl apply --server-side -f -",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	f.addFlux(cmd)
	cmd.RunE = func(_ *cobra.Command, _ []string) error {
		return fs.WalkDir(f.kinds(), ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(f.kinds(), name)
			if err != nil {
				return fmt.Errorf("read the kinds: %w", err)
			}
			_, err = a.Out.Write(text)
			return err
		})
	}
	return cmd
}
