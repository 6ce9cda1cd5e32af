// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/blueprint"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewCreateCommand is "yuba create".
func NewCreateCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create NAME --source KIND/NAME", SuggestFor: []string{"new", "add"},
		Short: "Create a stack whose program is in a source",
		Long: `Create a stack whose program is in a source: a GitRepository, OCIRepository, Bucket or ExternalArtifact. With --export the
command writes the manifest to standard output instead, for git. "yuba deploy" is for a local directory.

The commands below create sources, Kustomizations, receivers and alerts; create a stack that is called like one of them as
NAMESPACE/NAME.`,
		Example: "  yuba create vpc --source GitRepository/infra --path ./vpc --interval 15m\n" +
			"  yuba create vpc --source OCIRepository/modules --var region=eu-1 --auto --write-outputs vpc-outputs\n" +
			"  yuba create vpc --source GitRepository/infra.flux-system --export > vpc.yaml",
	}
	f := blueprint.New(cmd)
	f.Source()
	f.Text("path", "path", "", "the directory of the root module in the source")
	f.Duration("interval", "interval", 10*time.Minute, "interval between drift checks")
	f.Text("workspace", "workspace", "", "the workspace")
	f.Variables()
	varsFrom := cmd.Flags().StringArray("vars-from", nil, "variables from Secret/NAME or ConfigMap/NAME")
	f.Each("varsFrom", varsFrom, func(v string) (any, error) {
		kind, name, ok := strings.Cut(v, "/")
		if !ok || name == "" || kind != "Secret" && kind != "ConfigMap" {
			return nil, ui.UsageErrorf(cmd, "--vars-from %q: want Secret/NAME or ConfigMap/NAME", v)
		}
		return map[string]any{"kind": kind, "name": name}, nil
	})
	f.Dependencies("a stack that must be ready first")
	f.Text("write-outputs", "writeOutputsToSecret.name", "", "write the outputs into this Secret")
	f.Switch("auto", "approvePlan", infrav1.ApprovePlanAuto, "apply plans of this stack automatically")
	f.Switch("by-policy", "approvePlan", infrav1.ApprovePlanPolicy, "apply the plans of this stack that policies free from review")
	cmd.MarkFlagsMutuallyExclusive("auto", "by-policy")
	f.Switch("plan-only", "planOnly", true, "make plans and never apply them")
	f.Switch("destroy-on-deletion", "destroyResourcesOnDeletion", true, "destroy the stack's resources when it is deleted")
	wait := cmd.Flags().BoolP("wait", "w", false, "show the first run and wait until it ends")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	ui.CompleteFlag(cmd, "source", completeSources)
	return blueprint.Command(a, cmd, session.Stacks, f, out, func(ctx context.Context, s *session.Session, object *unstructured.Unstructured) error {
		key := client.ObjectKeyFromObject(object)
		s.News("%s is created.", key)
		switch {
		case *wait:
			r := review{action: "create", out: out, follower: follower{Session: s, key: key, generation: object.GetGeneration()}}
			return r.follow(ctx)
		case !out.Machine():
			return nil
		}
		t, err := s.Get(ctx, key)
		if err != nil {
			return err
		}
		return s.PrintStack(t, out)
	})
}

func completeSources(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var kinds []cobra.Completion
	for _, kind := range session.SourceKinds {
		kinds = append(kinds, kind+"/")
	}
	return kinds, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
