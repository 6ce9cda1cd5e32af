// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/policy/audit"
)

// scope is the part of the log that a command is about.
type scope struct {
	all bool
}

func (o *scope) add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "all namespaces")
}

// read asks for the log of the named stack, of the namespace, or of all.
func (o *scope) read(cmd *cobra.Command, s *session.Session, args []string) (content.AuditList, error) {
	if len(args) == 1 {
		key, err := s.Stack(cmd, args[0])
		if err != nil {
			return content.AuditList{}, err
		}
		return log(cmd.Context(), s, key.Namespace, key.Name)
	}
	if o.all {
		return log(cmd.Context(), s, "", "")
	}
	return log(cmd.Context(), s, s.Namespace, "")
}

func log(ctx context.Context, s *session.Session, namespace, stack string) (content.AuditList, error) {
	list, err := s.Content.Audit(ctx, namespace, stack)
	if err != nil {
		return list, fmt.Errorf("read the audit log of policies: %w", err)
	}
	return list, nil
}

// NewCommand is "yuba audit".
func NewCommand(a *session.App) *cobra.Command {
	var o scope
	cmd := &cobra.Command{
		Use:   "audit [NAME]",
		Short: "Show what policies decided, and who approved it",
		Long: `Show the audit log of policies, oldest first: each decision about a plan, each approval that the API recorded, and each apply of a
stack that policies bind. The log of a stack outlives the stack. Without a name, show those of the namespace, or with -A all.

With -o json the command exports the records as they are stored, each with its digest and that of the record before.
"yuba audit verify" checks an export, or the log itself.

To read the log, you need the role yuba:auditor.`,
		Example: "  yuba audit vpc\n  yuba audit -n prod\n  yuba audit -A -o json > audit.json\n  yuba audit verify -A",
		Args:    ui.Arguments(0, 1), ValidArgsFunction: a.StackNames(false),
	}
	o.add(cmd)
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		list, err := o.read(cmd, s, args)
		if err != nil {
			return err
		}
		return listed(list).Show(s.Console, out)
	})
	cmd.AddCommand(newVerifyCommand(a))
	return cmd
}

// whoDid names the user, and who acted as that user.
func whoDid(who audit.Who) string {
	if who.Impersonator != "" {
		return who.User + " (by " + who.Impersonator + ")"
	}
	return cmp.Or(who.User, "-")
}

func listed(list content.AuditList) *listing.List {
	l := &listing.List{Answer: list, None: "The audit log has no records. Policies have not judged a plan here.",
		Rows: [][]string{{"STACK", "NUMBER", "TIME", "EVENT", "WHO", "PLAN", "VERDICT", "MESSAGE", "FROM", "DIGEST"}}, Wide: []string{"FROM", "DIGEST"}}
	for _, chain := range list.Chains {
		name := chain.Namespace + "/" + chain.Stack
		for i, e := range chain.Items {
			r, err := e.Decode()
			if err != nil {
				l.Add(name, name, strconv.Itoa(i+1), "", "unreadable", "", "", "", "run: yuba audit verify", "", e.Digest)
				continue
			}
			message := cmp.Or(r.Message, strings.Join(r.Approvers, ", "))
			l.Add(name, name, strconv.FormatInt(r.Number, 10), r.At.UTC().Format("2006-01-02 15:04:05"), string(r.Kind), whoDid(r.Who),
				cmp.Or(r.Plan, "-"), cmp.Or(r.Verdict, "-"), message, cmp.Or(r.Who.Address, r.Who.Server), e.Digest)
		}
	}
	return l
}
