// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/policy/facts"
)

// maxPlanFile limits a plan that the command reads.
const maxPlanFile = 256 << 20

func newFactsCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "facts STACK|FILE",
		Short: "Print the facts that rules see of a plan",
		Long: `Print the facts that rules see of a plan: of the pending plan of a stack, else of its last stored plan; or of FILE, the output of
"tofu show -json PLAN". FILE is "-" for standard input; a file needs no server. Sensitive values are replaced by marks, {"$sensitive": true},
and unknown ones by {"$unknown": true}.

The document is described by a JSON schema, which --schema prints, and by docs/reference/policy-facts.md. Fields are only added to it. Facts about
the run, the stack and its contracts are missing for a file.`,
		Example: "  yuba policy facts vpc\n  tofu show -json plan.out | yuba policy facts -\n  yuba policy facts vpc | jq '.changes[] | select(.destroys) | .address'\n  yuba policy facts --schema",
		Args:    ui.Arguments(0, 1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			names, _ := a.StackNames(false)(cmd, args, word)
			return names, cobra.ShellCompDirectiveDefault
		},
	}
	schema := cmd.Flags().Bool("schema", false, "print the JSON schema of facts")
	lockFile := cmd.Flags().String("lock-file", "", "with FILE: the dependency lock file (.terraform.lock.hcl)")
	modules := cmd.Flags().String("modules", "", "with FILE: the list of modules (.terraform/modules/modules.json)")
	id := addRunFlag(cmd)
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *schema:
			_, err := a.Out.Write(facts.Schema)
			return err
		case len(args) == 0:
			return ui.UsageErrorf(cmd, "an argument is missing: %s", cmd.UseLine())
		case isFile(args[0]):
			if *id != "" {
				return ui.UsageErrorf(cmd, "--run %s: %s is a file, which has no runs", *id, args[0])
			}
			return factsOfFile(a, out, args[0], *lockFile, *modules)
		case *lockFile+*modules != "":
			return ui.UsageErrorf(cmd, "--lock-file and --modules are for files, and there is no file %s", args[0])
		case strings.ContainsAny(args[0], `.\`) || strings.Count(args[0], "/") > 1:
			return ui.Exitf(ui.ExitNotFound, "print the facts of %s: there is no such file", args[0])
		}
		return a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
			key, err := s.Stack(cmd, args[0])
			if err != nil {
				return err
			}
			document, err := s.Content.Facts(cmd.Context(), key.Namespace, key.Name, *id)
			if err != nil {
				return planError(s, "print the facts of", key, *id, err)
			}
			return out.Print(s.Out, document)
		})(cmd, args)
	}
	return cmd
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return name == "-" || err == nil && !info.IsDir()
}

func factsOfFile(a *session.App, out *ui.Output, name, lockFile, modules string) error {
	in := facts.Inputs{Stage: facts.StagePlan}
	for file, into := range map[string]*[]byte{name: &in.Show, lockFile: &in.LockFile, modules: &in.ModuleList} {
		if file == "" {
			continue
		}
		text, err := a.ReadFile(file, maxPlanFile)
		if err != nil {
			return err
		}
		*into = text
	}
	if !json.Valid(in.Show) {
		return ui.Exitf(ui.ExitFailure, "compute the facts of %s: it is not JSON. Make it of a saved plan:\n    tofu show -json PLAN > FILE", name)
	}
	document, err := facts.Build(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return out.Print(a.Out, document)
}

// planError explains why the server has no plan of a stack to judge.
func planError(s *session.Session, action string, key types.NamespacedName, id string, err error) error {
	var status apierrors.APIStatus
	switch {
	case !apierrors.IsNotFound(err) || session.NoStack(err):
		return s.StackError(action, key, err)
	case id != "":
		return ui.Exitf(ui.ExitNotFound, "%s %s: %w\nList its runs:\n    yuba runs %s", action, key, err, s.Call(key))
	case errors.As(err, &status):
		return ui.Exitf(ui.ExitNotFound, "%s %s: %w\nOnce a policy selects the stack, plan again:\n    yuba replan %s", action, key, err, s.Call(key))
	}
	return err
}
