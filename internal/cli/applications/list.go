// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

func newListCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list [KIND]", Aliases: []string{"ls"},
		Short: "List instances of all application kinds, or of one",
		Long: `List the instances of all application kinds, or of one, in the namespace or, with -A, in all. PLAN is the plan that waits for
approval. Kinds that you may not list are left out, and named below the list.`,
		Example: "  yuba app list\n  yuba app list bucket -A\n  yuba app list -o json",
		Args:    ui.Arguments(0, 1), ValidArgsFunction: ui.NoNames,
	}
	everywhere := cmd.Flags().BoolP("all-namespaces", "A", false, "all namespaces")
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		namespace := s.Namespace
		if *everywhere {
			if s.NamespaceFlag() != "" {
				return ui.UsageErrorf(cmd, "-A and -n %s are both given: want one of them", s.NamespaceFlag())
			}
			namespace = metav1.NamespaceAll
		}
		wanted, err := wantedKinds(s, args)
		if err != nil {
			return err
		}
		items, err := instances(cmd.Context(), s, wanted, namespace)
		if err != nil {
			return err
		}
		return tableOf(items, namespace, time.Now()).Show(s.Console, out)
	})
	return cmd
}

func wantedKinds(s *session.Session, args []string) ([]metav1.APIResource, error) {
	if len(args) == 0 {
		return kinds(s)
	}
	one, err := find(s, args[0])
	return []metav1.APIResource{one}, err
}

// instances are the instances of some kinds.
func instances(ctx context.Context, s *session.Session, wanted []metav1.APIResource, namespace string) (items []unstructured.Unstructured, err error) {
	for _, r := range wanted {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(appv1.InstanceVersion.WithKind(r.Kind + "List"))
		switch err := s.Objects.List(ctx, list, client.InNamespace(namespace)); {
		case apierrors.IsForbidden(err) && len(wanted) > 1:
			s.News("The kind %s is left out: you may not list it", r.SingularName)
		case err != nil && !apimeta.IsNoMatchError(err) && !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("list the instances of kind %s: %w", r.SingularName, err)
		default:
			items = append(items, list.Items...)
		}
	}
	return items, nil
}

func tableOf(items []unstructured.Unstructured, namespace string, now time.Time) *listing.List {
	where := "in " + namespace
	heads := []string{"KIND", "NAME", "READY", "STATUS", "PLAN", "AGE", "MESSAGE"}
	if namespace == "" {
		where = "here"
		heads = append([]string{"NAMESPACE"}, heads...)
	}
	answer := make([]map[string]any, 0, len(items))
	l := &listing.List{None: "There are no instances of application kinds " + where, Wide: []string{"MESSAGE"}, Rows: [][]string{heads}}
	for i := range items {
		o := &items[i]
		s := statusOf(o)
		ready := apimeta.FindStatusCondition(s.Conditions, appv1.ConditionReady)
		if ready == nil {
			ready = &metav1.Condition{Status: metav1.ConditionUnknown}
		}
		plan := ""
		if s.Plan != nil {
			plan = s.Plan.ID
		}
		row := []string{o.GetKind(), o.GetName(), string(ready.Status), s.Phase, plan, ui.Age(now, o.GetCreationTimestamp().Time), ready.Message}
		if namespace == "" {
			row = append([]string{o.GetNamespace()}, row...)
		}
		l.Add(o.GetKind()+"/"+o.GetNamespace()+"/"+o.GetName(), row...)
		answer = append(answer, o.Object)
	}
	l.Answer = map[string]any{"items": answer}
	return l
}

// statusOf is the status of an instance; empty if it is none.
func statusOf(o *unstructured.Unstructured) (s appv1.InstanceStatus) {
	status, _, _ := unstructured.NestedMap(o.Object, "status")            //nolint:errcheck // what is not a status is empty
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(status, &s) //nolint:errcheck // see above
	return s
}
