// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/release"
)

// newKeysCommand is "yuba registry keys".
func newKeysCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use:     "keys",
		Short:   "Manage the keys that sign your own providers",
		Long:    "Manage the OpenPGP public keys of a namespace. Only releases that one of them signed can be published, and clients verify them with the same keys. Changing\nthem is a right of its own, on signingkeys in content.yuba.dev: rights to publish do not include it.",
		Example: "  yuba registry keys add acme release.asc\n  yuba registry keys list acme",
	}, newKeysAddCommand(a), newKeysListCommand(a), newKeysRemoveCommand(a))
}

func newKeysAddCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add REGISTRY_NAMESPACE FILE",
		Short: "Add a signing key to a namespace",
		Long: `Add an armoured OpenPGP public key to a namespace; "-" reads it from standard input. Adding a key again replaces it, for
instance after you extended or revoked it.`,
		Example: "  yuba registry keys add acme release.asc\n  yuba registry keys add acme - < release.asc",
		Args:    ui.Arguments(2, 2),
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		var armor []byte
		var err error
		if args[1] == "-" {
			armor, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), release.MaxKeys))
		} else {
			armor, err = os.ReadFile(args[1])
		}
		if err != nil {
			return fmt.Errorf("add a signing key to %s: %w", args[0], err)
		}
		key, err := s.Content.AddSigningKey(cmd.Context(), args[0], armor)
		if err != nil {
			return explainedKeys(err, "add a signing key to "+args[0], args[0])
		}
		return showKey(s, out, key, "is a signing key of "+args[0])
	})
	return cmd
}

func newKeysRemoveCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove REGISTRY_NAMESPACE KEY",
		Short: "Remove a signing key from a namespace",
		Long: `Remove a signing key, by its id or fingerprint. Nothing more that it signs can be published. What it signed before stays
available. If the key is compromised, revoke it and add the revoked key instead, so that clients refuse what it signed.`,
		Example: "  yuba registry keys remove acme 0123456789ABCDEF",
		Args:    ui.Arguments(2, 2), ValidArgsFunction: ui.NoNames,
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		key, err := s.Content.RemoveSigningKey(cmd.Context(), args[0], args[1])
		if err != nil {
			return explainedKeys(err, "remove a signing key of "+args[0], args[0])
		}
		return showKey(s, out, key, "is no longer a signing key of "+args[0])
	})
	return cmd
}

// explainedKeys adds to a refusal how to get the right, which rights to publish do not include.
func explainedKeys(err error, doing, namespace string) error {
	explained := explained(err, doing)
	if !apierrors.IsForbidden(err) {
		return explained
	}
	return fmt.Errorf("%w\nWho may publish may not change signing keys. An administrator allows it by the cluster role yuba:registry-admin, or with a token:\n"+
		"    yuba registry token create NAME --keys %s", explained, namespace)
}

func showKey(s *session.Session, out *ui.Output, key release.KeyInfo, news string) error {
	switch {
	case out.Form == "name":
		_, err := fmt.Fprintln(s.Out, key.ID)
		return err
	case out.Machine():
		return out.Print(s.Out, key)
	}
	s.News("%s (%s) %s.", key.ID, strings.Join(key.Names, ", "), news)
	return nil
}

func newKeysListCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list REGISTRY_NAMESPACE", Aliases: []string{"ls"},
		Short:   "List the signing keys of a namespace",
		Long:    "List the signing keys of a namespace, and why a key cannot sign: it expired or was revoked.",
		Example: "  yuba registry keys list acme\n  yuba registry keys list acme -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.FirstWord(registryNamespaces),
	}
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		list, err := s.Content.SigningKeys(cmd.Context(), args[0])
		if err != nil {
			return explained(err, "list the signing keys of "+args[0])
		}
		return listedKeys(list, args[0], time.Now()).Show(s.Console, out)
	})
	return cmd
}

func listedKeys(list content.SigningKeyList, namespace string, now time.Time) *listing.List {
	l := &listing.List{Answer: list, None: fmt.Sprintf("%s has no signing keys. Add one:\n    yuba registry keys add %s KEY.asc", namespace, namespace),
		Rows: [][]string{{"KEY", "NAME", "CREATED", "EXPIRES", "FINGERPRINT", "NOTE"}}, Wide: []string{"FINGERPRINT"}}
	for _, key := range list.Items {
		expires := "never"
		if !key.Expires.IsZero() {
			expires = key.Expires.Format(time.DateOnly)
		}
		l.Add(key.ID, key.ID, strings.Join(key.Names, ", "), ui.Age(now, key.Created)+" ago", expires, key.Fingerprint, key.Problem)
	}
	return l
}
