// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// patience limits short questions to the server.
const patience = 30 * time.Second

func newHostCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Print the registry's host, as sources of modules name it",
		Long: `Print the host to write before NAMESPACE/NAME/SYSTEM in the source of a module, or before NAMESPACE/NAME in that of a provider,
with its port unless that is 443. Stacks of this Yuba need nothing else. Other machines need a token ("tofu login HOST"), and must
trust the registry's certificate: see "yuba registry ca".`,
		Example: "  yuba registry host\n  yuba registry host -o json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	ui.AddTimeoutFlag(cmd, patience, "how long to wait for the server")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, _ []string) error {
		info, err := describe(cmd.Context(), s)
		if err != nil {
			return err
		}
		if out.Machine() {
			return out.Print(a.Out, info)
		}
		fmt.Fprintln(a.Out, info.Host)
		return nil
	})
	return cmd
}

// describe asks the server about its registry, which must have an address.
func describe(ctx context.Context, s *session.Session) (content.RegistryInfo, error) {
	info, err := s.Content.Registry(ctx)
	if err != nil {
		return info, fmt.Errorf("ask the server for its registry: %w", err)
	}
	if info.Host == "" {
		return info, ui.Exitf(ui.ExitFailure, "the registry of this server has no address of its own. Start the server with one:\n    --registry-address HOST:PORT")
	}
	return info, nil
}

func newCACommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ca",
		Short: "Print the authority of the registry's certificate",
		Long: `Print the certificate of the authority that signs the registry's certificate, in PEM. Laptops and CI must trust it; stacks do not
need it. The command prints nothing, and says so, if the registry has a certificate that an administrator gave it.`,
		Example: "  yuba registry ca > yuba-ca.pem\n  SSL_CERT_FILE=yuba-ca.pem tofu init",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	ui.AddTimeoutFlag(cmd, patience, "how long to wait for the server")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, _ []string) error {
		info, err := describe(cmd.Context(), s)
		if err != nil {
			return err
		}
		if info.CA == "" {
			a.News("The registry's certificate is not of Yuba's own authority: it was given to the server, or to a proxy before it.")
			return nil
		}
		fmt.Fprintln(a.Out, strings.TrimSpace(info.CA))
		return nil
	})
	return cmd
}
