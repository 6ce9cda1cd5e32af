// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/policy/judge"
)

// listed is a policy in the list, for programs.
type listed struct {
	Kind        string   `json:"kind"`
	Namespace   string   `json:"namespace,omitempty"`
	Name        string   `json:"name"`
	Selects     string   `json:"selects"`
	Stacks      *int     `json:"stacks"`
	Rules       []string `json:"rules"`
	OnViolation string   `json:"onViolation"`
	AutoApprove bool     `json:"autoApprove"`
	Enforcement string   `json:"enforcement"`
	Ready       string   `json:"ready"`
	Problems    []string `json:"problems"`
}

func (l *listed) fullName() string {
	if l.Namespace == "" {
		return l.Kind + "/" + l.Name
	}
	return l.Kind + "/" + l.Namespace + "/" + l.Name
}

func newListCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"},
		Short: "List policies, how many stacks they select, and their problems",
		Long: `List the ClusterPolicies, and the Policies of the namespace or, with -A, of all. STACKS counts the stacks of these namespaces that
the policy selects: with 0, check its selector and the labels. PROBLEM is a rule that cannot be used, or an exemption that has expired or expires
within a week.`,
		Example: "  yuba policy list\n  yuba policy list -A -o wide\n  yuba policy list -o json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	everywhere := cmd.Flags().BoolP("all-namespaces", "A", false, "all namespaces")
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, _ []string) error {
		namespace := s.Namespace
		if *everywhere {
			if s.NamespaceFlag() != "" {
				return ui.UsageErrorf(cmd, "-A and -n %s are both given: want one of them", s.NamespaceFlag())
			}
			namespace = metav1.NamespaceAll
		}
		items, err := listPolicies(cmd.Context(), s, namespace, time.Now())
		if err != nil {
			return err
		}
		where := "in " + namespace
		if namespace == "" {
			where = "here"
		}
		return tableOf(items, where).Show(s.Console, out)
	})
	return cmd
}

func tableOf(items []listed, where string) *listing.List {
	l := &listing.List{Answer: map[string]any{"items": items}, None: "No policy judges stacks " + where + ". See what rules there are:\n    yuba policy rules",
		Wide: []string{"SELECTS", "RULES"}, Rows: [][]string{{"POLICY", "STACKS", "ON VIOLATION", "FREES", "ENFORCEMENT", "READY", "SELECTS", "RULES", "PROBLEM"}}}
	for i := range items {
		p := &items[i]
		stacks := "?"
		if p.Stacks != nil {
			stacks = strconv.Itoa(*p.Stacks)
		}
		l.Add(p.fullName(), p.fullName(), stacks, p.OnViolation, strconv.FormatBool(p.AutoApprove), p.Enforcement, p.Ready, p.Selects, strings.Join(p.Rules, ","), strings.Join(p.Problems, "; "))
	}
	return l
}

// listPolicies reads the policies of a namespace, or of all, and counts what they select. What the
// user may not read is left out, and said.
func listPolicies(ctx context.Context, s *session.Session, namespace string, now time.Time) ([]listed, error) {
	var definitions []*judge.Definition
	var items []listed
	err := each(ctx, s, namespace, func(o *session.Object, d *judge.Definition) {
		definitions = append(definitions, d)
		items = append(items, describe(o, d, now))
	})
	if err != nil || len(items) == 0 {
		return []listed{}, err
	}
	stacks := &metav1.PartialObjectMetadataList{}
	stacks.SetGroupVersionKind(session.StackKind.GroupVersion().WithKind(session.StackKind.Kind + "List"))
	if err := s.Objects.List(ctx, stacks, client.InNamespace(namespace)); err != nil {
		s.News("The stacks are not counted: %v", err)
		return items, nil
	}
	marks, err := namespaceLabels(ctx, s, namespace)
	for i, d := range definitions {
		if d.SelectsByNamespace() && err != nil {
			continue // the count is not known
		}
		count := 0
		for j := range stacks.Items {
			stack := &stacks.Items[j]
			if d.Selects(judge.Subject{Namespace: stack.Namespace, Name: stack.Name, Labels: stack.Labels}, marks[stack.Namespace]) {
				count++
			}
		}
		items[i].Stacks = &count
	}
	return items, nil
}

// each calls do with the ClusterPolicies, and then with the Policies of a namespace or of all.
func each(ctx context.Context, s *session.Session, namespace string, do func(*session.Object, *judge.Definition)) error {
	global, _, err := s.ListObjects(ctx, session.ClusterPolicies, "")
	if apierrors.IsForbidden(err) {
		s.News("ClusterPolicies are left out: you may not list them. They can still judge these stacks.")
		err = nil
	}
	if err != nil {
		return err
	}
	local, _, err := s.ListObjects(ctx, session.Policies, namespace)
	if apierrors.IsForbidden(err) && namespace == "" {
		return ui.Exitf(ui.ExitFailure, "list the Policies of all namespaces: you may not. List those of one:\n    yuba policy list -n NAMESPACE")
	}
	if err != nil {
		return err
	}
	for _, o := range append(global, local...) {
		d, err := definitionOf(o)
		if err != nil {
			return err
		}
		do(o, d)
	}
	return nil
}

func definitionOf(o *session.Object) (*judge.Definition, error) {
	if o.Kind.ClusterWide {
		var p yubav1.ClusterPolicy
		err := o.As(&p)
		return judge.ClusterDefinitionOf(&p), err
	}
	var p yubav1.Policy
	err := o.As(&p)
	return judge.DefinitionOf(&p), err
}

// namespaceLabels are the labels of namespaces by their names.
func namespaceLabels(ctx context.Context, s *session.Session, namespace string) (map[string]map[string]string, error) {
	marks := map[string]map[string]string{}
	if namespace != "" {
		var one corev1.Namespace
		err := s.Objects.Get(ctx, client.ObjectKey{Name: namespace}, &one)
		marks[namespace] = one.Labels
		return marks, err
	}
	var all corev1.NamespaceList
	err := s.Objects.List(ctx, &all)
	for i := range all.Items {
		marks[all.Items[i].Name] = all.Items[i].Labels
	}
	return marks, err
}

// soon is the time before the expiry of an exemption in which it is a problem.
const soon = 7 * 24 * time.Hour

func describe(o *session.Object, d *judge.Definition, now time.Time) listed {
	l := listed{Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, OnViolation: string(d.Spec.OnViolation), AutoApprove: d.Spec.AutoApprove,
		Enforcement: string(d.Spec.Enforcement), Ready: string(o.Ready().Status), Selects: d.Selection(), Rules: d.Rules(), Problems: []string{}}
	l.Problems = append(l.Problems, d.Problems()...)
	if c := o.Ready(); len(l.Problems) == 0 && c.Status == metav1.ConditionFalse {
		l.Problems = append(l.Problems, c.Message) // of a newer server
	}
	expired, ending := 0, []time.Time{}
	for _, e := range d.Spec.Exemptions {
		switch left := e.Expires.Sub(now); {
		case left <= 0:
			expired++
		case left < soon:
			ending = append(ending, e.Expires.Time)
		}
	}
	if expired > 0 {
		l.Problems = append(l.Problems, counted(expired, "exemption has expired", "exemptions have expired"))
	}
	if len(ending) > 0 {
		slices.SortFunc(ending, time.Time.Compare)
		l.Problems = append(l.Problems, fmt.Sprintf("%s, the first at %s", counted(len(ending), "exemption expires soon", "exemptions expire soon"), ending[0].UTC().Format(time.RFC3339)))
	}
	return l
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
