// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vault

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/shell"
	"github.com/yuba-dev/yuba/internal/platform/vaultinit"
)

// access are the flags of commands that ask a Vault that exists.
type access struct {
	address, caFile, tokenFile string
	out                        *ui.Output
}

func newMembersCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use:   "members COMMAND",
		Short: "List the servers of a Vault, and remove those that are gone",
		Long: `A Vault of several servers with integrated storage (raft) has a list of them. Most of those in the list must answer, or Vault stops. A server
that does not exist any more stays in the list, and counts as one that failed.`,
		Example: "  yuba vault members list --address https://vault.example.com:8200\n  yuba vault members remove vault-3 vault-4 --address https://vault.example.com:8200",
	}, newListCommand(a), newRemoveCommand(a))
}

func (o *access) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.address, "address", "", "the address of a server of Vault: https, or http on loopback")
	flags.StringVar(&o.caFile, "ca-file", "", "a PEM file with the certificate authorities of Vault (default the system's)")
	flags.StringVar(&o.tokenFile, "token-file", "", "a file with a token of Vault (default the environment variable VAULT_TOKEN)")
	ui.CompleteFlag(cmd, "address", ui.NoNames)
	o.out = ui.AddOutputFlag(cmd, "json", "yaml")
}

const aboutTokens = `
The token needs a policy that reads sys/storage/raft/configuration and sys/storage/raft/autopilot/state, and to remove servers also one
with "update" on sys/storage/raft/remove-peer. It is in VAULT_TOKEN, or in the file of --token-file.`

func newListCommand(a *session.App) *cobra.Command {
	o := &access{}
	cmd := &cobra.Command{
		Use:     "list --address URL",
		Short:   "List the servers of a Vault, and how many of them may fail",
		Long:    "List the servers of a Vault with integrated storage (raft): which one leads, which ones answer, and how many more may fail.\n" + aboutTokens,
		Example: "  VAULT_TOKEN=$(cat token) yuba vault members list --address https://vault.example.com:8200\n  yuba vault members list --address https://127.0.0.1:8200 --ca-file vault-ca.crt --token-file token -o json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	o.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		vault, err := o.read(cmd)
		if err != nil {
			return err
		}
		all, err := vault.Peers(cmd.Context())
		if err != nil {
			return o.failed("list the servers of Vault", err)
		}
		return o.print(a, all)
	}
	return cmd
}

func newRemoveCommand(a *session.App) *cobra.Command {
	o := &access{}
	cmd := &cobra.Command{
		Use:   "remove ID... --address URL",
		Short: "Remove servers from the list of a Vault",
		Long: `Remove servers from the list of a Vault with integrated storage (raft), by the IDs that "yuba vault members list" shows: servers that are gone for
good, or will be, as when a Vault of five servers becomes one of three. The command refuses to remove the leader, and to leave so few
that answer that Vault would stop.

A server that was removed cannot come back with its storage: delete its volume first.
` + aboutTokens,
		Example: "  yuba vault members remove vault-3 vault-4 --address https://vault.example.com:8200 --token-file token",
		Args:    ui.Arguments(1, -1), ValidArgsFunction: o.complete,
	}
	o.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		vault, err := o.read(cmd)
		if err != nil {
			return err
		}
		left, err := vault.Remove(cmd.Context(), ids)
		if err != nil {
			return o.failed("remove "+strings.Join(ids, ", "), err)
		}
		a.News("Removed %s. Delete their volumes before servers of these names are made again: with these, they cannot join.", strings.Join(ids, ", "))
		return o.print(a, left)
	}
	return cmd
}

// complete asks Vault for the IDs, if the address and the token are there.
func (o *access) complete(cmd *cobra.Command, given []string, _ string) (ids []cobra.Completion, _ cobra.ShellCompDirective) {
	if vault, err := o.read(cmd); err == nil {
		all, err := vault.Peers(cmd.Context())
		for i := range all {
			if err == nil && !all[i].Leader && !slices.Contains(given, all[i].ID) {
				ids = append(ids, all[i].ID)
			}
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func (o *access) read(cmd *cobra.Command) (vault vaultinit.Access, err error) {
	if o.address == "" {
		return vault, ui.UsageErrorf(cmd, "name a server of Vault: --address URL")
	}
	vault.Address, vault.Token = o.address, os.Getenv("VAULT_TOKEN")
	if vault.Authorities, err = optional(o.caFile); err != nil {
		return vault, err
	}
	if o.tokenFile != "" {
		text, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return vault, fmt.Errorf("read the token of Vault: %w", err)
		}
		vault.Token = string(text)
	}
	if vault.Token = strings.TrimSpace(vault.Token); vault.Token == "" {
		return vault, ui.UsageErrorf(cmd, "give a token of Vault: in the environment variable VAULT_TOKEN, or --token-file FILE")
	}
	return vault, nil
}

func (o *access) failed(what string, err error) error {
	what += " at " + o.address
	var refused *vaultinit.RefusedError
	var authority x509.UnknownAuthorityError
	switch {
	case errors.As(err, &refused):
		return ui.Exitf(ui.ExitWaiting, "%s: %w", what, err)
	case errors.As(err, &authority):
		err = fmt.Errorf("%w\nName the certificate authorities of Vault:\n    --ca-file FILE", err)
	case errors.Is(err, context.Canceled):
		return err
	}
	return session.Elsewhere(what, err)
}

// repeated are the flags as they were given.
func (o *access) repeated() (flags string) {
	for _, f := range [][2]string{{"address", o.address}, {"ca-file", o.caFile}, {"token-file", o.tokenFile}} {
		if f[1] != "" {
			flags += " --" + f[0] + " " + shell.Quote(f[1])
		}
	}
	return flags
}

func (o *access) print(a *session.App, all []vaultinit.Peer) error {
	if o.out.Machine() {
		return o.out.Print(a.Out, all)
	}
	rows := [][]string{{"ID", "ADDRESS", "ROLE", "ANSWERS", "LAST CONTACT"}}
	var dead []string
	for _, p := range all {
		role, answers := "waits to vote", "yes"
		switch {
		case p.Leader:
			role = "leader"
		case p.Voter:
			role = "follower"
		}
		if !p.Healthy {
			answers, dead = "no", append(dead, p.ID)
		}
		rows = append(rows, []string{p.ID, p.Address, role, answers, cmp.Or(p.LastContact, "-")})
	}
	if err := a.Table(rows, o.out); err != nil {
		return err
	}
	switch n := vaultinit.Tolerance(all); n {
	case 0:
		a.News("No server may fail: Vault would stop.")
	case 1:
		a.News("1 server may fail.")
	default:
		a.News("%d servers may fail.", n)
	}
	if len(dead) > 0 {
		a.News("If these do not come back, remove them:\n    yuba vault members remove %s%s", strings.Join(dead, " "), o.repeated())
	}
	return nil
}
