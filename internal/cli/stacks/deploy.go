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
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/yamltext"
)

// deployment is what the flags of "yuba deploy" say.
type deployment struct {
	name, path, workspace string
	vars                  []string
	interval              time.Duration
	auto, yes             bool
	timeout               time.Duration
}

// NewDeployCommand is "yuba deploy".
func NewDeployCommand(a *session.App) *cobra.Command {
	var d deployment
	cmd := &cobra.Command{
		Use: "deploy DIR --name NAME", SuggestFor: []string{"apply", "run"},
		Short: "Push a directory, plan it as a stack, ask, and apply",
		Long: `Push a directory, create or update the stack that runs it, show the plan, ask, and apply that plan.

Flags replace the stack's configuration; variables that you omit are unset. With --auto the server
applies this plan and every later one automatically. Without a terminal and without --yes the command ends with code 5
after the plan and says how to approve it.`,
		Example: "  yuba deploy . --name vpc\n  yuba deploy ./modules --path network --name vpc --var cidr=10.0.0.0/16\n  yuba deploy . --name vpc --auto --interval 1h",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: ui.Directories,
	}
	flags := cmd.Flags()
	flags.StringVar(&d.name, "name", "", "the stack's name (required)")
	flags.StringVar(&d.path, "path", "", "the directory of the root module, below DIR")
	flags.StringVar(&d.workspace, "workspace", "", "the workspace")
	flags.StringArrayVar(&d.vars, "var", nil, "an input variable as NAME=VALUE; lists and objects are written as JSON")
	flags.DurationVar(&d.interval, "interval", 10*time.Minute, "interval between drift checks")
	flags.BoolVar(&d.auto, "auto", false, "apply plans of this stack automatically, now and later")
	flags.BoolVarP(&d.yes, "yes", "y", false, "approve the plan without a question")
	flags.BoolVar(&d.yes, "approve", false, "the same as --yes")
	flags.DurationVar(&d.timeout, "timeout", 0, "maximum time to wait; the run continues after that")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := d.check(cmd); err != nil {
			return err
		}
		if err := out.Check(cmd); err != nil {
			return err
		}
		s, key, err := a.Open(cmd, d.name)
		if err != nil {
			return err
		}
		ctx, cancel := ui.WithTimeout(cmd.Context(), d.timeout)
		defer cancel()
		return deploy(ctx, s, key, args[0], d, out)
	}
	return cmd
}

func (d deployment) check(cmd *cobra.Command) error {
	if d.name == "" {
		return ui.UsageErrorf(cmd, "--name is missing: every stack needs a name")
	}
	name := d.name[strings.LastIndex(d.name, "/")+1:]
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return ui.UsageErrorf(cmd, "--name %s: %s", name, problems[0])
	}
	for _, v := range d.vars {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
			return ui.UsageErrorf(cmd, "--var %q: want NAME=VALUE", v)
		}
	}
	return nil
}

func deploy(ctx context.Context, s *session.Session, key types.NamespacedName, dir string, d deployment, out *ui.Output) error {
	pushed, err := push(ctx, s, dir, key)
	if err != nil {
		return err
	}
	s.News("Pushed %s (%s): %s", dir, ui.Size(pushed.Size), ui.ShortRevision(pushed.Revision))
	var before infrav1.Terraform
	if err := s.Objects.Get(ctx, key, &before); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("get %s: %w", key, err)
	}
	if before.Spec.Suspend {
		return ui.Exitf(ui.ExitWaiting, "deploy %s: the stack is suspended. Resume it first:\n    yuba resume %s", key, s.Call(key))
	}
	request := session.NewRequest()
	applied, err := applyStack(ctx, s, d.object(key, request))
	if err != nil {
		return fmt.Errorf("deploy %s: %w", key, err)
	}
	r := review{action: "deploy", yes: d.yes, out: out, follower: follower{Session: s, key: key, before: lastRunOf(&before),
		request: request, generation: applied.GetGeneration()}}
	return r.run(ctx)
}

// object is the stack as the flags describe it. It is applied, so it holds the fields that this command answers for and
// no other: what others have set stays.
func (d deployment) object(key types.NamespacedName, request string) *unstructured.Unstructured {
	spec := map[string]any{
		"interval":  d.interval.String(),
		"sourceRef": map[string]any{"kind": infrav1.SourceKindExternalArtifact, "name": key.Name},
		// A stack that was destroyed comes back to life when it is deployed again.
		"destroy": false,
	}
	if d.path != "" {
		spec["path"] = d.path
	}
	if d.workspace != "" {
		spec["workspace"] = d.workspace
	}
	if d.auto {
		spec["approvePlan"] = infrav1.ApprovePlanAuto
	}
	var vars []any
	for _, v := range d.vars {
		name, value, _ := strings.Cut(v, "=")
		vars = append(vars, map[string]any{"name": name, "value": value})
	}
	if vars != nil {
		spec["vars"] = vars
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": infrav1.GroupVersion.String(), "kind": session.StackKind.Kind,
		"metadata": map[string]any{"namespace": key.Namespace, "name": key.Name,
			"annotations": map[string]any{infrav1.AnnotationReconcile: request}},
		"spec": spec,
	}}
}

// applyStack makes or updates a stack by server-side apply.
func applyStack(ctx context.Context, s *session.Session, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	err := s.Objects.Patch(ctx, u, yamltext.Apply, session.FieldOwner, client.ForceOwnership)
	return u, err
}
