// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/policy/judge"
)

const maxPolicyFile = 1 << 20

// trial is the answer of the command for programs.
type trial struct {
	Policy  string               `json:"policy"`
	Summary trialSummary         `json:"summary"`
	Items   []content.TriedStack `json:"items"`
}

// trialSummary counts stacks.
type trialSummary struct {
	Stopped int `json:"stopped"`
	Freed   int `json:"freed"`
	Same    int `json:"same"`
	// Unknown have no stored plan; NotSelected are stacks that the policy does not concern.
	Unknown     int `json:"unknown"`
	NotSelected int `json:"notSelected"`
	// Unused would be freed if their approvePlan was "policy".
	Unused int `json:"unused"`
}

func newTryCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "try FILE|NAME", SuggestFor: []string{"dry-run", "simulate"},
		Short: "Show which plans a policy would stop or free, without applying it",
		Long: `Judge the last plans of stacks by a policy that is not in force, and show which plans it would stop, which it would free, and why. The policy is
a file with one Policy or ClusterPolicy ("-" for standard input), or one in the API, such as a policy in audit mode: NAME, Policy/NAME or ClusterPolicy/NAME.
It is judged as if enforced, together with all other policies, and in place of the one of its name.

A ClusterPolicy is tried on the stacks of all namespaces, or with -n of one; that requires the right to create the resource
"policytrials" of the API group content.yuba.dev there, which the role "edit" has. The server judges: plans do not leave it. Yuba stores plans in the form that policies read only
for stacks that a policy selects, so other stacks are listed as unknown: apply the policy in audit mode first.

Exit codes: 0, or 1 with --fail if a plan would be stopped.`,
		Example: "  yuba policy try safe.yaml\n  yuba policy try safe.yaml -n team-a --all\n  yuba policy try ClusterPolicy/safe -o json\n  yuba policy try safe.yaml --fail",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: policyNames(a),
	}
	all := cmd.Flags().Bool("all", false, "also show stacks for which the policy changes nothing")
	fails := cmd.Flags().Bool("fail", false, "end with exit code 1 if a plan would be stopped")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		text, definition, err := policyNamed(cmd, s, args[0])
		if err != nil {
			return err
		}
		namespace := s.NamespaceFlag()
		if definition.Kind == "Policy" {
			definition = definition.In(s.Namespace)
			namespace = definition.Namespace
		}
		if n := s.NamespaceFlag(); n != "" && n != namespace {
			return ui.UsageErrorf(cmd, "-n %s: the policy is of the namespace %s, and judges only its stacks", n, namespace)
		}
		answer, err := tryOn(cmd.Context(), s, definition, text, namespace, args[0])
		if err != nil {
			return err
		}
		if out.Machine() {
			err = out.Print(s.Out, answer)
		} else {
			showTrial(s.Console, answer, *all)
		}
		if err == nil && *fails && answer.Summary.Stopped > 0 {
			return ui.WithCode(ui.ExitFailure, errors.New(""))
		}
		return err
	})
	return cmd
}

func policyNames(a *session.App) cobra.CompletionFunc {
	global, local := a.ObjectNames(session.ClusterPolicies, false), a.ObjectNames(session.Policies, false)
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, _ := global(cmd, args, word)
		own, _ := local(cmd, args, word)
		return append(names, own...), cobra.ShellCompDirectiveDefault
	}
}

// policyNamed reads the policy of a file, or one of the API, as YAML.
func policyNamed(cmd *cobra.Command, s *session.Session, argument string) ([]byte, *judge.Definition, error) {
	if isFile(argument) {
		return policyOfFile(s.Console, argument)
	}
	if ext := strings.ToLower(argument); strings.HasSuffix(ext, ".yaml") || strings.HasSuffix(ext, ".yml") || strings.HasSuffix(ext, ".json") {
		return nil, nil, ui.Exitf(ui.ExitNotFound, "try %s: there is no such file", argument)
	}
	kind, name, named := strings.Cut(argument, "/")
	switch {
	case named && strings.EqualFold(kind, session.ClusterPolicies.GVK.Kind):
		return policyOfAPI(cmd.Context(), s, session.ClusterPolicies, types.NamespacedName{Name: name})
	case named && strings.EqualFold(kind, session.Policies.GVK.Kind):
		key, err := s.Stack(cmd, name)
		if err != nil {
			return nil, nil, ui.UsageErrorf(cmd, "%q is not the name of a policy: want Policy/NAME or Policy/NAMESPACE/NAME", argument)
		}
		return policyOfAPI(cmd.Context(), s, session.Policies, key)
	case named:
		return policyOfAPI(cmd.Context(), s, session.Policies, types.NamespacedName{Namespace: kind, Name: name})
	}
	text, d, err := policyOfAPI(cmd.Context(), s, session.ClusterPolicies, types.NamespacedName{Name: argument})
	if err == nil || !ui.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return text, d, err
	}
	text, d, err = policyOfAPI(cmd.Context(), s, session.Policies, types.NamespacedName{Namespace: s.Namespace, Name: argument})
	if ui.IsNotFound(err) {
		err = ui.Exitf(ui.ExitNotFound, "try %s: there is neither a file nor a ClusterPolicy of that name, nor a Policy in %s. List the policies:\n    yuba policy list", argument, s.Namespace)
	}
	return text, d, err
}

func policyOfAPI(ctx context.Context, s *session.Session, k session.Kind, key types.NamespacedName) ([]byte, *judge.Definition, error) {
	o, err := s.GetObject(ctx, k, key)
	if err != nil {
		return nil, nil, err
	}
	// What the server wrote is none of the policy.
	delete(o.Object, "status")
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		return nil, nil, fmt.Errorf("write %s: %w", o, err)
	}
	d, err := judge.Define(text)
	return text, d, err
}

// policyOfFile reads the only policy of a file.
func policyOfFile(c *ui.Console, name string) (text []byte, d *judge.Definition, err error) {
	whole, err := c.ReadFile(name, maxPolicyFile)
	if err != nil {
		return nil, nil, err
	}
	reader := yamlreader.NewYAMLReader(bufio.NewReader(bytes.NewReader(whole)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", name, err)
		}
		if !judge.IsPolicy(document) {
			continue
		}
		if text != nil {
			return nil, nil, ui.Exitf(ui.ExitFailure, "try %s: it has more than one policy. Try one after the other", name)
		}
		text = document
	}
	if text == nil {
		return nil, nil, ui.Exitf(ui.ExitFailure, "try %s: it has no Policy or ClusterPolicy of yuba.dev/v1alpha1. See an example:\n    yuba policy rules no-destroy", name)
	}
	if d, err = judge.Define(text); err == nil {
		var problems []error
		for _, p := range d.Problems() {
			problems = append(problems, errors.New(p))
		}
		err = errors.Join(problems...)
	}
	if err != nil {
		return nil, nil, ui.Exitf(ui.ExitFailure, "try %s: the policy cannot be used:\n    %s", name, strings.ReplaceAll(err.Error(), "\n", "\n    "))
	}
	return text, d, nil
}

// tryOn asks the server, which answers in parts.
func tryOn(ctx context.Context, s *session.Session, d *judge.Definition, text []byte, namespace, argument string) (*trial, error) {
	answer := &trial{Policy: d.String(), Items: []content.TriedStack{}}
	err := s.Content.TryPolicy(ctx, namespace, text, func(part content.PolicyTrial) error {
		answer.Summary.NotSelected += part.Passed
		for _, t := range part.Items {
			answer.Summary.count(t.Effect)
			if t.Unused {
				answer.Summary.Unused++
			}
		}
		answer.Items = append(answer.Items, part.Items...)
		if part.Continue != "" && ui.IsTerminal(s.Err) {
			s.News("%d stacks are judged …", len(answer.Items))
		}
		return nil
	})
	switch {
	case apierrors.IsForbidden(err) && namespace == "":
		return nil, ui.Exitf(ui.ExitFailure, "try %s on the stacks of all namespaces: you may not. Try it on those of one:\n    yuba policy try %s -n NAMESPACE", d, argument)
	case err != nil:
		return nil, fmt.Errorf("try %s: %w", d, err)
	}
	return answer, nil
}

func (t *trialSummary) count(effect string) {
	switch effect {
	case content.TrialStopped:
		t.Stopped++
	case content.TrialFreed:
		t.Freed++
	case content.TrialSame:
		t.Same++
	default:
		t.Unknown++
	}
}

func showTrial(c *ui.Console, t *trial, all bool) {
	for _, group := range []struct{ effect, title string }{
		{content.TrialStopped, "Would be stopped:"}, {content.TrialFreed, "Would be freed:"}, {content.TrialSame, "Stay as they are:"}, {content.TrialUnknown, "Unknown:"},
	} {
		if !all && group.effect == content.TrialSame {
			continue
		}
		first := true
		for i := range t.Items {
			if s := &t.Items[i]; s.Effect == group.effect {
				if first {
					fmt.Fprintln(c.Out, group.title)
					first = false
				}
				showTried(c.Out, s)
			}
		}
	}
	s := t.Summary
	if len(t.Items) == 0 {
		c.News("%s selects none of %s. Check its selector, and the labels:\n    yuba kubectl get tf -A --show-labels", t.Policy, counted(s.NotSelected, "stack", "stacks"))
		return
	}
	if s.Unused > 0 {
		c.News("%s would also need no person, if approvePlan of the stack was \"policy\".", counted(s.Unused, "plan", "plans"))
	}
	c.News("%s, not applied: it would stop %s, free %d, and change nothing for %d. %d have no plan to judge, %d are not selected.",
		t.Policy, counted(s.Stopped, "plan", "plans"), s.Freed, s.Same, s.Unknown, s.NotSelected)
}

func showTried(w io.Writer, t *content.TriedStack) {
	head := fmt.Sprintf("  %s/%s", t.Namespace, t.Name)
	switch {
	case t.Effect == content.TrialUnknown:
		fmt.Fprintln(w, head+": "+ui.OneLine(t.Message))
		return
	case t.Now == t.Then:
		head += ": " + t.Now
	default:
		head += ": " + t.Now + " -> " + t.Then
	}
	state := "last plan, of run " + t.Run
	if t.Pending {
		state = "pending plan of run " + t.Run
	}
	fmt.Fprintln(w, head+" ("+state+")")
	for _, f := range t.Findings {
		fmt.Fprintln(w, "    "+ui.OneLine(fmt.Sprintf("%s (%s): %s", f.Rule, f.Effect, nonEmpty(": ", f.Address, f.Message))))
	}
	if t.Omitted > 0 {
		fmt.Fprintf(w, "    and %s\n", counted(t.Omitted, "more finding", "more findings"))
	}
	if t.Exempted > 0 {
		fmt.Fprintf(w, "    %s\n", counted(t.Exempted, "finding is exempted", "findings are exempted"))
	}
	if len(t.Findings) == 0 && t.Now != t.Then && t.Effect == content.TrialStopped {
		fmt.Fprintln(w, "    "+ui.OneLine(t.Message))
	}
}
