// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func newListCommand(a *app) *cobra.Command {
	cmd := listCommand(a, &cobra.Command{
		Use:     "list [NAME]...",
		Aliases: []string{"ls"},
		Short:   "List the stacks of a namespace",
		Long: `List the stacks of a namespace, of all, or those that are named: whether each is ready, what it says, and what its last
plan changes. "yuba get" lists the other kinds, too. A stack that is called artifacts is NAMESPACE/artifacts here.`,
		Example: "  yuba list\n  yuba list -A -o json\n  yuba list -l team=network\n  yuba list vpc dns",
	})
	cmd.AddCommand(newListArtifactsCommand(a))
	return cmd
}

// listCommand lists stacks.
func listCommand(a *app, cmd *cobra.Command) *cobra.Command {
	var all bool
	var selector string
	cmd.Args, cmd.ValidArgsFunction = arguments(0, -1), a.stackNames(true)
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list the stacks of all namespaces")
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "list only stacks with these labels, such as team=network")
	out := addOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(cmd); err != nil {
			return err
		}
		if len(args) > 0 && (all || selector != "") {
			return usageErrorf(cmd, "name stacks or use -A or -l, not both")
		}
		match, err := labels.Parse(selector)
		if err != nil {
			return usageErrorf(cmd, "-l %s: %w", selector, err)
		}
		s, err := a.connect()
		if err != nil {
			return err
		}
		namespace := s.namespace
		if all {
			namespace = ""
		}
		stacks := infrav1.TerraformList{TypeMeta: metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: stackKind.Kind + "List"}}
		if len(args) > 0 {
			if err := s.listNamed(cmd, args, &stacks); err != nil {
				return err
			}
			return s.showList(&stacks, namespace, out)
		}
		if err := s.objects.List(cmd.Context(), &stacks, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: match}); err != nil {
			return fmt.Errorf("list stacks: %w", err)
		}
		return s.showList(&stacks, namespace, out)
	}
	return cmd
}

// listNamed gets the stacks that the arguments name.
func (s *session) listNamed(cmd *cobra.Command, args []string, stacks *infrav1.TerraformList) error {
	for _, argument := range args {
		key, err := s.stack(cmd, argument)
		if err != nil {
			return err
		}
		t, err := s.get(cmd.Context(), key)
		if err != nil {
			return err
		}
		stacks.Items = append(stacks.Items, *t)
	}
	return nil
}

func (s *session) showList(stacks *infrav1.TerraformList, namespace string, out *output) error {
	switch {
	case out.form == "name":
		for i := range stacks.Items {
			fmt.Fprintln(s.out, objectName(&stacks.Items[i]))
		}
		return nil
	case out.machine():
		for i := range stacks.Items {
			stacks.Items[i].SetGroupVersionKind(stackKind)
		}
		return out.print(s.out, stacks)
	case len(stacks.Items) == 0 && namespace == "":
		s.news("There are no stacks.")
		return nil
	case len(stacks.Items) == 0:
		s.news("There are no stacks in namespace %s.", namespace)
		return nil
	}
	rows := [][]string{{"NAME", "READY", "STATUS", "PLAN", "REVISION", "AGE"}}
	for i := range stacks.Items {
		rows = append(rows, listRow(&stacks.Items[i], time.Now()))
	}
	elsewhere := func(t infrav1.Terraform) bool { return t.Namespace != namespace }
	if namespace == "" || slices.ContainsFunc(stacks.Items, elsewhere) {
		rows[0] = append([]string{"NAMESPACE"}, rows[0]...)
		for i := range stacks.Items {
			rows[i+1] = append([]string{stacks.Items[i].Namespace}, rows[i+1]...)
		}
	}
	return table(s.out, rows)
}

// listWidth is how much of a stack's message fits into a line beside the rest.
const listWidth = 60

func listRow(t *infrav1.Terraform, now time.Time) []string {
	ready := conditionOf(t, infrav1.ConditionReady)
	return []string{t.Name, string(ready.Status), firstLine(stateInWords(t), listWidth), t.Status.Plan.Summary,
		shortRevision(t.Status.LastAttemptedRevision), age(now, t.CreationTimestamp.Time)}
}

// objectName is what -o name prints, as kubectl does.
func objectName(t *infrav1.Terraform) string {
	return "terraform." + infrav1.GroupVersion.Group + "/" + t.Name
}

func conditionOf(t *infrav1.Terraform, kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(t.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown}
}
