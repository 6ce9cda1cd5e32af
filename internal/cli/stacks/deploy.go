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
	"github.com/yuba-dev/yuba/internal/cli/blueprint"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/kit/yamltext"
)

type deployment struct {
	name   string
	yes    bool
	fields *blueprint.Fields
}

// NewDeployCommand is "yuba deploy".
func NewDeployCommand(a *session.App) *cobra.Command {
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
	d := deployment{fields: blueprint.New(cmd)}
	flags := cmd.Flags()
	flags.StringVar(&d.name, "name", "", "the stack's name (required)")
	d.fields.Text("path", "path", "", "the directory of the root module, below DIR")
	d.fields.Text("workspace", "workspace", "", "the workspace")
	d.fields.Variables()
	d.fields.Duration("interval", "interval", 10*time.Minute, "interval between drift checks")
	d.fields.Switch("auto", "approvePlan", infrav1.ApprovePlanAuto, "apply plans of this stack automatically, now and later")
	d.fields.Switch("by-policy", "approvePlan", infrav1.ApprovePlanPolicy, "apply the plans of this stack that policies free from review, now and later")
	cmd.MarkFlagsMutuallyExclusive("auto", "by-policy")
	// A stack that was destroyed is created again when it is deployed again.
	d.fields.Always("destroy", false)
	flags.BoolVarP(&d.yes, "yes", "y", false, "approve the plan without a question")
	flags.BoolVar(&d.yes, "approve", false, "the same as --yes")
	ui.AddTimeoutFlag(cmd, 0, waitUsage)
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if d.name == "" {
			return ui.UsageErrorf(cmd, "--name is missing: every stack needs a name")
		}
		name := d.name[strings.LastIndex(d.name, "/")+1:]
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			return ui.UsageErrorf(cmd, "--name %s: %s", name, problems[0])
		}
		// Check the other flags before connecting, too.
		_, err := d.fields.Object(session.Stacks, types.NamespacedName{Name: name})
		return err
	}
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		key, err := s.Stack(cmd, d.name)
		if err != nil {
			return err
		}
		stack, err := d.fields.Object(session.Stacks, key)
		if err != nil {
			return err
		}
		return d.deploy(cmd.Context(), s, args[0], stack, out)
	})
	return cmd
}

// deploy pushes a directory and applies the fields that this command sets: others stay.
func (d deployment) deploy(ctx context.Context, s *session.Session, dir string, stack *unstructured.Unstructured, out *ui.Output) error {
	key := client.ObjectKeyFromObject(stack)
	pushed, err := push(ctx, s, dir, key)
	if err != nil {
		return err
	}
	s.News("Pushed %s (%s): %s", dir, ui.Size(pushed.Size), shorten.Revision(pushed.Revision))
	var before infrav1.Terraform
	if err := s.Objects.Get(ctx, key, &before); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("get %s: %w", key, err)
	}
	if held := moving.Held(&before); held != "" {
		return ui.Exitf(ui.ExitRefused, "deploy %s: %s", key, held)
	}
	if before.Spec.Suspend {
		return ui.Exitf(ui.ExitWaiting, "deploy %s: the stack is suspended. Resume it first:\n    yuba resume %s", key, s.Call(key))
	}
	request := session.NewRequest()
	stack.SetAnnotations(map[string]string{infrav1.AnnotationReconcile: request})
	source := map[string]any{"kind": infrav1.SourceKindExternalArtifact, "name": key.Name}
	err = unstructured.SetNestedMap(stack.Object, source, "spec", "sourceRef")
	if err == nil {
		err = s.Objects.Patch(ctx, stack, yamltext.Apply, session.FieldOwner, client.ForceOwnership)
	}
	if err != nil {
		return fmt.Errorf("deploy %s: %w", key, err)
	}
	r := review{action: "deploy", yes: d.yes, out: out, follower: follower{Session: s, key: key, before: lastRunOf(&before),
		request: request, generation: stack.GetGeneration()}}
	return r.run(ctx)
}
