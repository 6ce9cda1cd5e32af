// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/dns/resolve"
)

// checked is a record as a resolver answers it, for programs.
type checked struct {
	yubav1.SubdomainRecord
	// Answer is OK, or what is wrong.
	Answer string `json:"answer"`
}

// checkList are the records of a claim, for programs.
type checkList struct {
	Domain string    `json:"domain"`
	Items  []checked `json:"items"`
}

func newCheckCommand(a *session.App) *cobra.Command {
	var resolver string
	cmd := &cobra.Command{
		Use:   "check NAME",
		Short: "List the records of a claim, and check them by resolving",
		Long: `List the records that a claim needs, and ask a resolver for each. For a pool with spec.manual, these are the records to create
on your DNS server. The question comes from this machine; resolvers may keep older answers for a time.

The command fails with exit code 1 if a record is missing or wrong.`,
		Example: "  yuba dns check acme\n  yuba dns check acme --resolver 9.9.9.9:53",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.ObjectNames(session.SubdomainClaims, false),
	}
	cmd.Flags().StringVar(&resolver, "resolver", "", "the resolver to ask, HOST:PORT (default that of this machine)")
	ui.CompleteFlag(cmd, "resolver", ui.NoNames)
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		if _, _, err := net.SplitHostPort(resolver); resolver != "" && err != nil {
			return ui.UsageErrorf(cmd, "--resolver %s is not HOST:PORT", resolver)
		}
		key, err := s.Stack(cmd, args[0])
		if err != nil {
			return err
		}
		key.Name = objectName(key.Name)
		var c yubav1.SubdomainClaim
		if err := s.GetAs(cmd.Context(), session.SubdomainClaims, key, &c); err != nil {
			return explained(err, "SubdomainClaim", key)
		}
		if len(c.Status.Records) == 0 {
			return ui.Exitf(ui.ExitFailure, "SubdomainClaim %s has no records yet. Give it addresses:\n    yuba dns claim %s -n %s --address ADDRESS", key, key.Name, key.Namespace)
		}
		list, wrong := checkList{Domain: c.Status.Domain}, 0
		for _, r := range c.Status.Records {
			is, err := resolve.Check(cmd.Context(), &net.Dialer{Timeout: 10 * time.Second}, resolver, r.Name, r.Type, r.Addresses)
			if err != nil {
				return err
			}
			if is != "" {
				wrong++
			} else {
				is = "OK"
			}
			list.Items = append(list.Items, checked{r, is})
		}
		if err := printChecked(s, out, list); err != nil {
			return err
		}
		if wrong > 0 {
			return ui.Exitf(ui.ExitFailure, "%d of %d records of %s are missing or wrong. Create them on its DNS server as they are listed", wrong, len(list.Items), list.Domain)
		}
		return nil
	})
	return cmd
}

func printChecked(s *session.Session, out *ui.Output, list checkList) error {
	if out.Machine() {
		return out.Print(s.Out, list)
	}
	rows := [][]string{{"NAME", "TTL", "TYPE", "ADDRESSES", "ANSWER"}}
	for _, r := range list.Items {
		rows = append(rows, []string{r.Name, fmt.Sprint(r.TTL), r.Type, strings.Join(r.Addresses, " "), r.Answer})
	}
	return s.Table(rows, nil)
}
