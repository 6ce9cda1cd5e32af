// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/policy/audit"
)

func newVerifyCommand(a *session.App) *cobra.Command {
	var o scope
	var file, against string
	cmd := &cobra.Command{
		Use:   "verify [NAME]",
		Short: "Verify the audit log of policies",
		Long: `Verify that no record of the audit log was changed, removed or exchanged: each record names the digest of the one before. The
command computes all digests itself.

Records that were cut off at the end leave a whole log. The command finds that by the last record that the status of a stack
names, and with --against FILE by an earlier export: all its records must still be there. Keep exports where the server
cannot write.

The log of a stack that "yuba move" brought begins with a record that names the last one in the other home. With --against
and an export of that home, the command verifies both parts.

With -f the command verifies an export, without a server.`,
		Example: "  yuba audit verify vpc\n  yuba audit verify -A --against audit.json\n  yuba audit verify -f audit.json",
		Args:    ui.Arguments(0, 1), ValidArgsFunction: a.StackNames(false),
	}
	o.add(cmd)
	cmd.Flags().StringVarP(&file, "filename", "f", "", "verify this export instead of the server's log")
	cmd.Flags().StringVar(&against, "against", "", "an earlier export, whose records must still be there")
	verify := func(cmd *cobra.Command, s *session.Session, args []string) error {
		var list content.AuditList
		var err error
		if file != "" {
			list, err = readExport(file)
		} else {
			list, err = o.read(cmd, s, args)
		}
		if err != nil {
			return err
		}
		heads := map[string][]audit.Head{}
		if against != "" {
			before, err := readExport(against)
			if err != nil {
				return err
			}
			noteExport(heads, before, list, o.within(cmd, s, args, file))
		}
		if file == "" {
			if err := noteStacks(cmd, s, heads, list); err != nil {
				return err
			}
		}
		return report(cmd, list, heads)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if file == "" {
			return a.InSession(verify)(cmd, args)
		}
		if len(args) > 0 || o.all {
			return ui.UsageErrorf(cmd, "use --filename without NAME and -A: the whole export is verified")
		}
		return verify(cmd, nil, nil)
	}
	return cmd
}

func readExport(file string) (list content.AuditList, err error) {
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return list, fmt.Errorf("read the export %s (made by \"yuba audit -o json\"): %w", file, err)
	}
	return list, nil
}

// within reports whether a command looks at a stack's log.
func (o *scope) within(cmd *cobra.Command, s *session.Session, args []string, file string) func(c audit.Chain) bool {
	return func(c audit.Chain) bool {
		switch {
		case len(args) == 1:
			key, err := s.Stack(cmd, args[0])
			return err == nil && key == keyOf(c)
		case o.all, file != "":
			return true
		}
		return c.Namespace == s.Namespace
	}
}

// noteExport notes all records of an export that the command looks at. Of one from a home from where the
// stack was moved, the log must name the last record, and the export must be whole.
func noteExport(heads map[string][]audit.Head, list, now content.AuditList, within func(audit.Chain) bool) {
	for _, c := range list.Chains {
		if !within(c) {
			continue
		}
		if slices.ContainsFunc(now.Chains, func(n audit.Chain) bool { return keyOf(n) == keyOf(c) && n.Continues(&c) }) {
			heads[c.Namespace+"/"+c.Stack] = append(heads[c.Namespace+"/"+c.Stack], c.Head())
			continue
		}
		for _, e := range c.Items {
			if r, err := e.Decode(); err == nil {
				name := c.Namespace + "/" + c.Stack
				heads[name] = append(heads[name], audit.Head{Number: r.Number, Digest: e.Digest})
			}
		}
	}
}

// noteStacks notes the last records that the statuses of stacks name. The log of a stack that
// somebody may not read, or that is gone, is verified without.
func noteStacks(cmd *cobra.Command, s *session.Session, heads map[string][]audit.Head, list content.AuditList) error {
	for _, c := range list.Chains {
		t := &infrav1.Terraform{}
		if err := s.Objects.Get(cmd.Context(), keyOf(c), t); err != nil {
			continue
		}
		v := t.Status.Plan.Policy
		if v == nil || v.AuditRecord == "" {
			continue
		}
		head, err := audit.ParseHead(v.AuditRecord)
		if err != nil {
			return fmt.Errorf("read status.plan.policy.auditRecord of %s/%s: %w", c.Namespace, c.Stack, err)
		}
		if c.Elsewhere(head) {
			continue // the status came with the stack from another home
		}
		name := c.Namespace + "/" + c.Stack
		heads[name] = append(heads[name], head)
	}
	return nil
}

func keyOf(c audit.Chain) types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.Stack}
}

// report prints what is broken, or that nothing is.
func report(cmd *cobra.Command, list content.AuditList, heads map[string][]audit.Head) error {
	records, broken := 0, 0
	seen := map[string]bool{}
	for _, c := range list.Chains {
		name := c.Namespace + "/" + c.Stack
		seen[name] = true
		problems := c.Verify(heads[name]...)
		records, broken = records+len(c.Items), broken+len(problems)
		for _, p := range problems {
			fmt.Fprintln(cmd.OutOrStdout(), p)
		}
		switch {
		case len(problems) > 0:
		case len(c.Items) == 0:
			fmt.Fprintf(cmd.OutOrStdout(), "%s: no records\n", name)
		default:
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, the last one is %s\n", name, ui.Count(len(c.Items), "record"), c.Head())
		}
	}
	for name, noted := range heads {
		if !seen[name] {
			broken++
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s were there, and the log has none\n", name, ui.Count(len(noted), "record"))
		}
	}
	if broken > 0 {
		return ui.Exitf(ui.ExitFailure, "the audit log is broken at %s. Compare it with a backup or an earlier export, and find out who could write the blob store", ui.Count(broken, "place"))
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "The audit log is whole: %s.\n", ui.Count(records, "record"))
	return nil
}
