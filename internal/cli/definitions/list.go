// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

func newListCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"},
		Short: "List the definitions of application kinds",
		Long: `List the definitions of application kinds: the kind, what its instances become, how many there are, how many of them have the
last change, and whether the API serves the kind as the definition says.`,
		Example: "  yuba definition list\n  yuba definition list -o wide\n  yuba definition list -o json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, _ []string) error {
		var list appv1.ApplicationDefinitionList
		if err := s.Objects.List(cmd.Context(), &list); err != nil && !apimeta.IsNoMatchError(err) {
			return fmt.Errorf("list the definitions: %w", err)
		}
		return tableOf(list.Items, time.Now()).Show(s.Console, out)
	})
	return cmd
}

func tableOf(items []appv1.ApplicationDefinition, now time.Time) *listing.List {
	l := &listing.List{None: "There are no definitions of application kinds", Wide: []string{"CATEGORY", "AGE"},
		Rows: [][]string{{"NAME", "KIND", "BACKEND", "INSTANCES", "UP-TO-DATE", "READY", "CATEGORY", "AGE", "MESSAGE"}}}
	answer := make([]appv1.ApplicationDefinition, 0, len(items))
	for i := range items {
		d := &items[i]
		ready := apimeta.FindStatusCondition(d.Status.Conditions, appv1.ConditionReady)
		if ready == nil {
			ready = &metav1.Condition{Status: metav1.ConditionUnknown}
		}
		category := ""
		if d.Spec.Dashboard != nil {
			category = d.Spec.Dashboard.Category
		}
		l.Add(d.Name, d.Name, d.Spec.Application.Kind, string(backendOf(d)), fmt.Sprint(d.Status.Instances), upToDate(d), string(ready.Status), category,
			ui.Age(now, d.CreationTimestamp.Time), ready.Message)
		d.SetGroupVersionKind(appv1.GroupVersion.WithKind(appv1.ApplicationDefinitionKind))
		answer = append(answer, *d)
	}
	l.Answer = map[string]any{"items": answer}
	return l
}

// upToDate is how many instances have the last change; empty if it is not known.
func upToDate(d *appv1.ApplicationDefinition) string {
	if d.Status.Rollout == nil {
		return ""
	}
	return fmt.Sprint(d.Status.Rollout.Updated)
}

// backendOf is what instances become. A new definition has no status yet.
func backendOf(d *appv1.ApplicationDefinition) appv1.BackendType {
	switch {
	case d.Status.Backend != "":
		return d.Status.Backend
	case d.Spec.Backend != nil:
		return d.Spec.Backend.Type
	}
	return appv1.BackendHelm
}
