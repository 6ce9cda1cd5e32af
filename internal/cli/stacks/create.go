// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// blueprint is what the flags of "yuba create" say.
type blueprint struct {
	source, path, workspace, outputs                string
	vars, varsFrom, dependsOn                       []string
	interval                                        time.Duration
	auto, planOnly, destroyOnDeletion, export, wait bool
}

// NewCreateCommand is "yuba create".
func NewCreateCommand(a *session.App) *cobra.Command {
	var b blueprint
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
		Args: ui.Arguments(1, 1), ValidArgsFunction: ui.NoNames,
	}
	flags := cmd.Flags()
	flags.StringVar(&b.source, "source", "", "the source as KIND/NAME, or KIND/NAME.NAMESPACE (required)")
	flags.StringVar(&b.path, "path", "", "the directory of the root module in the source")
	flags.DurationVar(&b.interval, "interval", 10*time.Minute, "interval between drift checks")
	flags.StringVar(&b.workspace, "workspace", "", "the workspace")
	flags.StringArrayVar(&b.vars, "var", nil, "an input variable as NAME=VALUE; lists and objects are written as JSON")
	flags.StringArrayVar(&b.varsFrom, "vars-from", nil, "variables from Secret/NAME or ConfigMap/NAME")
	flags.StringArrayVar(&b.dependsOn, "depends-on", nil, "a stack that must be ready first, as NAME or NAMESPACE/NAME")
	flags.StringVar(&b.outputs, "write-outputs", "", "write the outputs into this Secret")
	flags.BoolVar(&b.auto, "auto", false, "apply plans of this stack automatically")
	flags.BoolVar(&b.planOnly, "plan-only", false, "make plans and never apply them")
	flags.BoolVar(&b.destroyOnDeletion, "destroy-on-deletion", false, "destroy the stack's resources when it is deleted")
	flags.BoolVar(&b.export, "export", false, "write the manifest to standard output and create nothing")
	flags.BoolVarP(&b.wait, "wait", "w", false, "show the first run and wait until it ends")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	if err := cmd.RegisterFlagCompletionFunc("source", completeSources); err != nil {
		panic(fmt.Sprintf("%v. This is a bug in Yuba.", err))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.Check(cmd); err != nil {
			return err
		}
		if b.export {
			return exportStack(a, cmd, args[0], b, out)
		}
		return a.OnStack(out, func(ctx context.Context, s *session.Session, key types.NamespacedName, _ []string) error {
			object, err := b.object(cmd, key)
			if err != nil {
				return err
			}
			return create(ctx, s, key, object, b.wait, out)
		})(cmd, args)
	}
	return cmd
}

// completeSources completes the kind of a source; its name is not asked for.
func completeSources(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var kinds []cobra.Completion
	for _, kind := range session.SourceKinds {
		kinds = append(kinds, kind+"/")
	}
	return kinds, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// exportStack asks no API, and needs none.
func exportStack(a *session.App, cmd *cobra.Command, name string, b blueprint, out *ui.Output) error {
	s, err := a.Unconnected()
	if err != nil {
		return err
	}
	key, err := s.Stack(cmd, name)
	if err != nil {
		return err
	}
	object, err := b.object(cmd, key)
	if err != nil {
		return err
	}
	if out.Form == "name" {
		return ui.UsageErrorf(cmd, "-o name: --export writes json or yaml")
	}
	if out.Form == "" {
		out.Form = "yaml"
	}
	return out.Print(a.Out, object.Object)
}

func create(ctx context.Context, s *session.Session, key types.NamespacedName, object *unstructured.Unstructured, wait bool, out *ui.Output) error {
	err := s.Objects.Create(ctx, object, session.FieldOwner)
	if apierrors.IsAlreadyExists(err) {
		return ui.Exitf(ui.ExitFailure, "create %s: the stack exists already. Change it:\n    yuba kubectl edit tf %s -n %s", key, key.Name, key.Namespace)
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", key, err)
	}
	s.News("%s is created.", key)
	switch {
	case wait:
		r := review{action: "create", out: out, follower: follower{Session: s, key: key, generation: object.GetGeneration()}}
		return r.follow(ctx)
	case out.Machine():
		t, err := s.Get(ctx, key)
		if err != nil {
			return err
		}
		return s.PrintStack(t, out)
	}
	return nil
}

// object is the stack as the flags describe it.
func (b blueprint) object(cmd *cobra.Command, key types.NamespacedName) (*unstructured.Unstructured, error) {
	if problems := validation.IsDNS1123Subdomain(key.Name); len(problems) > 0 {
		return nil, ui.UsageErrorf(cmd, "%s: %s", key.Name, problems[0])
	}
	source, err := session.SourceRef(cmd, b.source, key.Namespace)
	if err != nil {
		return nil, err
	}
	spec := map[string]any{"interval": b.interval.String(), "sourceRef": source}
	for field, value := range map[string]string{"path": b.path, "workspace": b.workspace} {
		if value != "" {
			spec[field] = value
		}
	}
	if b.auto {
		spec["approvePlan"] = infrav1.ApprovePlanAuto
	}
	for field, set := range map[string]bool{"planOnly": b.planOnly, "destroyResourcesOnDeletion": b.destroyOnDeletion} {
		if set {
			spec[field] = true
		}
	}
	if b.outputs != "" {
		spec["writeOutputsToSecret"] = map[string]any{"name": b.outputs}
	}
	if err := b.addLists(cmd, spec); err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": infrav1.GroupVersion.String(), "kind": session.StackKind.Kind,
		"metadata": map[string]any{"namespace": key.Namespace, "name": key.Name},
		"spec":     spec,
	}}, nil
}

func (b blueprint) addLists(cmd *cobra.Command, spec map[string]any) error {
	var vars, varsFrom []any
	for _, v := range b.vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return ui.UsageErrorf(cmd, "--var %q: want NAME=VALUE", v)
		}
		vars = append(vars, map[string]any{"name": name, "value": value})
	}
	for _, v := range b.varsFrom {
		kind, name, ok := strings.Cut(v, "/")
		if !ok || name == "" || kind != "Secret" && kind != "ConfigMap" {
			return ui.UsageErrorf(cmd, "--vars-from %q: want Secret/NAME or ConfigMap/NAME", v)
		}
		varsFrom = append(varsFrom, map[string]any{"kind": kind, "name": name})
	}
	dependsOn, err := session.Dependencies(cmd, b.dependsOn)
	if err != nil {
		return err
	}
	for field, list := range map[string][]any{"vars": vars, "varsFrom": varsFrom, "dependsOn": dependsOn} {
		if list != nil {
			spec[field] = list
		}
	}
	return nil
}
