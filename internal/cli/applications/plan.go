// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

func newPlanCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan KIND NAME [RESOURCE]",
		Short: "Show the pending plan of an instance, or the last one",
		Long: `Show the changes of the plan that waits for approval, else of the last one that Yuba stored. The command hides sensitive
values, and makes no new plan. Of an instance with several stacks, RESOURCE is the id of one, as "yuba app why" lists them;
without it, the command shows the plan that waits.`,
		Example: "  yuba app plan bucket photos\n  yuba app plan bucket team-a/photos -o json\n  yuba app plan webapp shop network",
		Args:    ui.Arguments(2, 3), ValidArgsFunction: ui.NoNames,
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = onInstance(a, func(ctx context.Context, s *session.Session, kind session.Kind, i content.Instance, rest []string) error {
		status, err := read(ctx, s, i)
		if err != nil {
			return err
		}
		i.Part = strings.Join(rest, "")
		document, err := s.Content.InstancePlan(ctx, i)
		if err != nil {
			return failed("show the plan of", i, err)
		}
		p, err := plan.Decode(document)
		if err != nil {
			return failed("show the plan of", i, err)
		}
		if out.Machine() {
			return out.Print(s.Out, p)
		}
		fmt.Fprint(s.Out, plan.Render(p, plan.RenderOptions{Color: s.Colors(s.Out)}))
		part, _, several := strings.Cut(planOf(status), "/")
		if planOf(status) != "" && status.Phase == appv1.PhaseAwaitingApproval && (i.Part == "" || several && part == i.Part) {
			s.News("\nPlan %s waits for approval. Approve it:\n    yuba app approve %s %s %s", status.Plan.ID, kind.Word, s.Call(types.NamespacedName{Namespace: i.Namespace, Name: i.Name}), status.Plan.ID)
		}
		return nil
	})
	return cmd
}

func newApproveCommand(a *session.App) *cobra.Command {
	var comment string
	cmd := &cobra.Command{
		Use:   "approve KIND NAME [PLAN-ID]",
		Short: "Approve the pending plan of an instance, so that Yuba applies it",
		Long: `Approve the pending plan of an instance. Yuba applies exactly that plan. With PLAN-ID the command refuses if another plan is
pending by now; without it, the command approves the plan that the instance's status names, so look at it first. The plans of
an instance with several stacks begin with the id of the resource, as in network/plan-1a2b3c4d5e.

The server records who approves, as the API knows them. You need the right to create buckets/approve of the group
content.yuba.dev for the kind Bucket, and none to stacks.`,
		Example: "  yuba app plan bucket photos && yuba app approve bucket photos\n  yuba app approve bucket photos plan-1a2b3c4d5e --comment 'as agreed'",
		Args:    ui.Arguments(2, 3), ValidArgsFunction: ui.NoNames,
	}
	cmd.Flags().StringVar(&comment, "comment", "", "why you approve it, for others")
	cmd.RunE = onInstance(a, func(ctx context.Context, s *session.Session, kind session.Kind, i content.Instance, rest []string) error {
		id := strings.Join(rest, "")
		if id == "" {
			status, err := read(ctx, s, i)
			if err != nil {
				return err
			}
			if status.Plan == nil || status.Plan.ID == "" {
				return ui.Exitf(ui.ExitNotFound, "approve %s %s/%s: no plan waits for approval", kind.Word, i.Namespace, i.Name)
			}
			id = status.Plan.ID
		}
		if err := s.Content.ApproveInstance(ctx, i, id, comment); err != nil {
			return failed("approve the plan of", i, err)
		}
		s.News("Plan %s of %s %s/%s is approved and will be applied. Follow it:\n    yuba kubectl get %s %s -n %s -w", id, kind.Word, i.Namespace, i.Name, i.Resource, i.Name, i.Namespace)
		return nil
	})
	return cmd
}

func newWhyCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why KIND NAME",
		Short: "Explain the status of an instance, and what it waits for",
		Long: `Explain the status of an instance: its conditions, what Yuba does next with what is behind it, and what that waits for. The
command changes nothing.`,
		Example: "  yuba app why bucket photos\n  yuba app why bucket team-a/photos",
		Args:    ui.Arguments(2, 2), ValidArgsFunction: ui.NoNames,
	}
	cmd.RunE = onInstance(a, func(ctx context.Context, s *session.Session, kind session.Kind, i content.Instance, _ []string) error {
		status, err := read(ctx, s, i)
		if err != nil {
			return err
		}
		v := ui.Labels{Writer: s.Out}
		v.Line(kind.GVK.Kind, "%s/%s", i.Namespace, i.Name)
		v.Line("Status", "%s", status.Phase)
		if c := apimeta.FindStatusCondition(status.Conditions, appv1.ConditionReady); c != nil {
			v.Line("", "%s: %s", c.Reason, c.Message)
		}
		if p := status.Plan; p != nil && p.ID != "" {
			v.Line("Plan", "%s: %s", p.ID, p.Summary)
		}
		if f := status.Definition; f != nil && f.Waiting > 0 {
			v.Line("Rollout", "it follows revision %d of its definition, and waits for its turn to get revision %d", f.Revision, f.Waiting)
			v.Line("", "see the rollout: yuba definition list, yuba definition history")
		}
		if b := status.BackendRef; b != nil {
			at := i.Namespace + "/" + b.Name
			if status.Namespace != "" {
				at = b.Name // the namespace itself
			}
			v.Line("Behind it", "%s %s", b.Kind, at)
		}
		if len(status.Resources) > 0 {
			resources(v, status.Resources)
			return nil
		}
		why, err := s.Content.InstanceWhy(ctx, i)
		if apierrors.IsNotFound(err) {
			return nil // it has no stack
		}
		if err != nil {
			return failed("explain", i, err)
		}
		if status.Phase != appv1.PhaseAwaitingApproval {
			v.Line("Now", "%s", why.Decision.Message)
			v.Line("", "%s", why.Decision.Detail)
		}
		if q := why.Queue; q != nil {
			v.Line("Queue", "place %d", q.Place)
		}
		for _, note := range why.Notes {
			v.Line("Note", "%s", note)
		}
		return nil
	})
	return cmd
}

// resources lists the objects of an instance with several: those that are not ready say why.
func resources(v ui.Labels, list []appv1.InstanceResource) {
	label := "Resources"
	for _, r := range list {
		v.Line(label, "%s: %s %s is %s", r.ID, r.Kind, r.Name, r.State)
		if label = ""; r.Message != "" {
			v.Line("", "    %s", r.Message)
		}
	}
}

// planOf is the id of the plan that waits for approval; empty for none.
func planOf(s appv1.InstanceStatus) string {
	if s.Plan == nil {
		return ""
	}
	return s.Plan.ID
}

func kindOf(r metav1.APIResource) session.Kind {
	return session.Kind{GVK: appv1.InstanceVersion.WithKind(r.Kind), Plural: r.Name, Word: r.SingularName}
}

// read reads the status of an instance.
func read(ctx context.Context, s *session.Session, i content.Instance) (appv1.InstanceStatus, error) {
	objects, err := dynamic.NewForConfig(s.Config)
	if err != nil {
		return appv1.InstanceStatus{}, fmt.Errorf("create a client for instances: %w", err)
	}
	o, err := objects.Resource(appv1.InstanceVersion.WithResource(i.Resource)).Namespace(i.Namespace).Get(ctx, i.Name, metav1.GetOptions{})
	if err != nil {
		return appv1.InstanceStatus{}, failed("read", i, err)
	}
	return statusOf(o), nil
}

// failed says what could not be done with an instance.
func failed(action string, i content.Instance, err error) error {
	if apierrors.IsNotFound(err) {
		return ui.Exitf(ui.ExitNotFound, "%s %s %s/%s: it does not exist, or has nothing of this kind: %v", action, i.Resource, i.Namespace, i.Name, err)
	}
	return fmt.Errorf("%s %s %s/%s: %w", action, i.Resource, i.Namespace, i.Name, err)
}
