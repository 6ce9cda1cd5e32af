// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tenants/check"
	"github.com/yuba-dev/yuba/internal/tenants/row"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// NewTenantCommand is "yuba tenant".
func NewTenantCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use:     "tenant COMMAND",
		Aliases: []string{"tenants"},
		Short:   "List tenants, try templates, confirm deletions",
		Long: `Work with tenants: the rows of a tenant registry (a table of a database, for instance), each of which gets the objects of the
registry's templates. "yuba get tenantregistries" and "yuba get tenanttemplates" list registries and templates; "yuba
reconcile tenantregistry NAME" reads a registry now.`,
		Example: "  yuba tenant list\n  yuba tenant render web --row id=acme\n  yuba tenant diff web -f web.yaml",
	}, newTenantListCommand(a), newTenantRenderCommand(a), newTenantDiffCommand(a), newTenantConfirmCommand(a))
}

func newTenantListCommand(a *session.App) *cobra.Command {
	var registry, template string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List tenants",
		Long: `List the tenants of a namespace, or of all: the row of each, how many of its objects are ready, and its message. The command
also reports registries that cannot be read, rows that cannot be tenants, templates with mistakes, and deletions that wait
for confirmation.

-o json and -o yaml, like those of "yuba get tenants", hide the values of extra columns, because Yuba cannot know which of them
are secret. "yuba kubectl get tenants -o yaml" shows them.`,
		Example: "  yuba tenant list\n  yuba tenant list -A --status-selector ready=false\n  yuba tenant list --registry customers --template web -o json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	flags := cmd.Flags()
	q := listing.Query{Kinds: []session.Kind{session.Tenants}}
	read := q.AddFlags(cmd, "tenants", tenantv1.LabelUID+"=acme")
	flags.StringVar(&registry, "registry", "", "list only tenants of this registry")
	flags.StringVar(&template, "template", "", "list only tenants of this template")
	ui.CompleteFlag(cmd, "registry", a.ObjectNames(session.TenantRegistries, true))
	ui.CompleteFlag(cmd, "template", a.ObjectNames(session.TenantTemplates, true))
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.PreRunE = func(*cobra.Command, []string) error { return read() }
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, _ []string) error {
		if registry != "" {
			of, err := labels.NewRequirement(tenantv1.LabelRegistry, selection.Equals, []string{row.RegistryLabel(registry)})
			if err != nil {
				return ui.UsageErrorf(cmd, "--registry %s: %w", registry, err)
			}
			q.Selector = q.Selector.Add(*of)
		}
		if keep := q.Keep; template != "" {
			q.Keep = func(o *session.Object) bool { return keep(o) && o.Text("spec", "templateRef") == template }
		}
		q.Some = q.Some || registry+template != ""
		return listTenants(cmd.Context(), listing.NewView(s, q, out), registry, template)
	})
	return cmd
}

// completeUIDs completes --tenant with the uids of labels: uids of rows may contain shell commands.
func completeUIDs(a *session.App, cmd *cobra.Command) {
	ui.CompleteFlag(cmd, "tenant", a.ObjectWords(session.Tenants, func(o *session.Object) string { return o.GetLabels()[tenantv1.LabelUID] }))
}

func listTenants(ctx context.Context, v *listing.View, registry, template string) error {
	objects, _, err := v.ListObjects(ctx, session.Tenants, v.Namespace, client.MatchingLabelsSelector{Selector: v.Selector})
	if err != nil {
		return err
	}
	objects = slices.DeleteFunc(objects, func(o *session.Object) bool { return !v.Keep(o) })
	if err := v.Show(objects); err != nil || v.Answer.Machine() {
		return err
	}
	return errors.Join(tellOfRegistries(ctx, v, registry), tellOfTemplates(ctx, v, registry, template))
}

// tellOfRegistries reports why tenants do not follow their rows.
func tellOfRegistries(ctx context.Context, v *listing.View, only string) error {
	registries, _, err := v.ListObjects(ctx, session.TenantRegistries, v.Namespace)
	if err != nil {
		return err
	}
	for _, o := range registries {
		var registry tenantv1.TenantRegistry
		if err := o.As(&registry); err != nil {
			return err
		}
		if only != "" && o.GetName() != only {
			continue
		}
		if ready := o.Ready(); ready.Status == metav1.ConditionFalse {
			v.News("Cannot read %s; its tenants stay as they are: %s", o, ui.FirstLine(diagnostic.Printable(ready.Message), 300))
		}
		if last := registry.Status.LastSync; last != nil && last.RejectedRows > 0 {
			v.News("%s of %s cannot be tenants: %s", ui.Count(int(last.RejectedRows), "row"), o, diagnostic.Printable(reasons(last.Rejected)))
		}
		if held := registry.Status.Held; held != nil && !held.Confirmed {
			v.News("%s holds the deletion of %s: %s. Confirm it:\n    yuba tenant confirm %s", o, ui.Count(int(held.Count), "tenant"),
				namedTenants(held.Tenants, int(held.Count)), v.Call(o.Key()))
		}
	}
	return nil
}

// tellOfTemplates reports why tenants do not follow their templates.
func tellOfTemplates(ctx context.Context, v *listing.View, registry, only string) error {
	templates, _, err := v.ListObjects(ctx, session.TenantTemplates, v.Namespace)
	if err != nil {
		return err
	}
	for _, o := range templates {
		valid, applied := o.Condition(tenantv1.ConditionValid), o.Condition(tenantv1.ConditionApplied)
		switch {
		case registry != "" && o.Text("spec", "registryId") != registry || only != "" && o.GetName() != only:
		case o.GetDeletionTimestamp() != nil:
			v.News("%s is being deleted: %s", o, diagnostic.Printable(applied.Message)) // with the command that confirms it, if needed
		case applied.Reason == tenantv1.ReasonRegistryNotFound:
			v.News("%s has no rows: %s", o, ui.FirstLine(diagnostic.Printable(applied.Message), 300))
		case valid.Status == metav1.ConditionFalse:
			v.News("%s has mistakes, and does not create or change tenants: %s", o, ui.FirstLine(diagnostic.Printable(valid.Message), 300)+andMore(check.WithoutCode(valid.Message)))
		case applied.Reason == tenantv1.ReasonRolloutPaused:
			v.News("The rollout of %s is paused: %s", o, ui.FirstLine(diagnostic.Printable(applied.Message), 300))
		}
	}
	return nil
}

func andMore(text string) string {
	if n := strings.Count(strings.TrimSpace(text), "\n"); n > 0 {
		return fmt.Sprintf(" (and %d more)", n)
	}
	return ""
}

// reasons says why rows were rejected. One reason may be for many rows.
func reasons(rejected []string) string {
	const shown = 5
	text := strings.Join(rejected[:min(len(rejected), shown)], "; ")
	if len(rejected) > shown {
		text += "; and others"
	}
	return text
}

// namedTenants lists the first tenants, and how many follow.
func namedTenants(names []string, all int) string {
	const shown = 5
	text := strings.Join(names[:min(len(names), shown)], ", ")
	switch more := all - min(len(names), shown); {
	case text == "":
		return fmt.Sprint(all)
	case more > 0:
		return fmt.Sprintf("%s and %d more", text, more)
	}
	return text
}
