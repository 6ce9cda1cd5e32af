// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func newListCommand(a *app) *cobra.Command {
	cmd := listCommand(a, &cobra.Command{
		Use: "list [NAME]...", SuggestFor: []string{"ps", "stacks"},
		Aliases: []string{"ls"},
		Short:   "List the stacks of a namespace",
		Long: `List the stacks of a namespace, of all, or those that are named: whether each is ready, and how it stands in a few words. It is
the table of "kubectl get terraforms". With -o wide it also has the changes of the last plan, the revisions that were
applied and planned last, and what Ready says in full.

"yuba get" lists the other kinds, too. A stack that is called artifacts is NAMESPACE/artifacts here.`,
		Example: "  yuba list\n  yuba list -A -o wide\n  yuba list -l team=network --watch\n  yuba list vpc dns -o json",
	})
	cmd.AddCommand(newListArtifactsCommand(a))
	return cmd
}

// listCommand lists stacks.
func listCommand(a *app, cmd *cobra.Command) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = arguments(0, -1), a.stackNames(true)
	return gettingCommand(a, cmd, getting{kinds: []kind{stacks}, typed: true})
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

// showStacks answers programs with stacks.
func (v *getView) showStacks(objects []*object) error {
	list := stackList()
	for _, o := range objects {
		var t infrav1.Terraform
		if err := o.as(&t); err != nil {
			return err
		}
		list.Items = append(list.Items, t)
	}
	return v.printStacks(list, v.answer)
}

func stackList(items ...infrav1.Terraform) *infrav1.TerraformList {
	return &infrav1.TerraformList{TypeMeta: metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: stackKind.Kind + "List"}, Items: items}
}

// printStacks answers programs, or with -o name.
func (s *session) printStacks(list *infrav1.TerraformList, out *output) error {
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(stackKind)
		if out.form == "name" {
			fmt.Fprintln(s.out, objectName(&list.Items[i]))
		}
	}
	if out.form == "name" {
		return nil
	}
	return out.print(s.out, list)
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
