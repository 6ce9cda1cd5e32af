// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package vault has the commands "yuba vault": a new Vault gets its keys, and Yuba keeps none of
// them, and the servers of a Vault are listed and removed. Package vaultinit does it.
package vault

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/platform/vaultinit"
	"github.com/yuba-dev/yuba/internal/sealed"
)

// options are the flags of "yuba vault init".
type options struct {
	address, caFile, keyFile string
	members                  []string
	recipients, files        []string
	threshold                int
	identities               []string
	reader                   string
	host, hostCA, reviewer   string
	manifests                string
	out                      *ui.Output
}

// NewCommand is "yuba vault".
func NewCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use:     "vault COMMAND",
		Short:   "Initialise a Vault whose keys only offline recipients can read, and manage its servers",
		Long:    "Initialise a new Vault or OpenBao: its unseal keys are encrypted for offline recipients, and its root token is revoked.",
		Example: "  yuba vault init --address https://vault.example.com:8200 --key-file vault-keys.json -r age1… -r age1… -r age1…",
	}, newInitCommand(a), newMembersCommand(a))
}

func newInitCommand(a *session.App) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "init --address URL --key-file FILE -r AGE-RECIPIENT...",
		Short: "Initialise a new Vault, set up External Secrets, and revoke the root token",
		Long: `Initialise a new Vault (or OpenBao). Each recipient, a public key of age, gets one share of the key that unseals Vault; a majority of
them, or --threshold, unseals it. The shares go to the key file, each encrypted for its recipient; nothing is ever written in clear
text. The command then unseals Vault, mounts the KV engine at secret/, lets the service account of --external-secrets read it, revokes
the root token, and proves that Vault refuses it.

Run the same command again at any time: it finds out what is done. If it was interrupted after Vault had answered, -i with the
identities of enough recipients continues. If Vault's one answer with the keys was lost, the command says so: nobody has the keys, and
the Vault, which has no content yet, begins again with an empty storage.

A Vault of several servers with integrated storage (raft) is named by --address for one of them and --member for each other one. They
join the first one by retry_join of their configuration; the command unseals them with the same keys, and waits until all of
them vote. Run it again with -i after restarts: it unseals the servers that are sealed.

Unseal Vault later without Yuba: decrypt a share with "age -d", and give it to "vault operator unseal".`,
		Example: "  yuba vault init --address https://vault.example.com:8200 --key-file vault-keys.json --recipients-file keys.txt --external-secrets external-secrets/external-secrets --manifests store.yaml\n" +
			"  yuba vault init --address http://127.0.0.1:8200 --key-file vault-keys.json -r age1…",
		Args: ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.address, "address", "", "the address of Vault: https, or http on loopback")
	flags.StringArrayVar(&o.members, "member", nil, "the address of a further server of the same Vault, with raft storage and retry_join; can be repeated")
	flags.StringVar(&o.caFile, "ca-file", "", "a PEM file with the certificate authorities of Vault (default the system's)")
	flags.StringVar(&o.keyFile, "key-file", "", "the file for the encrypted shares")
	flags.StringArrayVarP(&o.recipients, "recipient", "r", nil, "a public key of age that gets one share; can be repeated")
	flags.StringArrayVar(&o.files, "recipients-file", nil, "a file with a public key a line; can be repeated")
	flags.IntVar(&o.threshold, "threshold", 0, "how many shares unseal Vault (default a majority)")
	flags.StringArrayVarP(&o.identities, "identity", "i", nil, "a file of age-keygen, to continue an interrupted setup; can be repeated")
	flags.StringVar(&o.reader, "external-secrets", "", "the service account NAMESPACE/NAME that may read all secrets; none if empty")
	flags.StringVar(&o.host, "kubernetes-host", "", "the API of the cluster as Vault reaches it (default that of Vault's own cluster)")
	flags.StringVar(&o.hostCA, "kubernetes-ca-file", "", "a PEM file with the certificate authority of --kubernetes-host")
	flags.StringVar(&o.reviewer, "reviewer-token-file", "", "a file with a token that may create TokenReviews (default the service account's own)")
	flags.StringVar(&o.manifests, "manifests", "", "a file for the ClusterSecretStore of External Secrets")
	o.out = ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a, cmd) }
	return cmd
}

func (o *options) run(ctx context.Context, a *session.App, cmd *cobra.Command) error {
	if o.address == "" || o.keyFile == "" {
		return ui.UsageErrorf(cmd, "name Vault and the file for its shares: --address URL --key-file FILE")
	}
	do, err := o.read()
	if err != nil {
		return err
	}
	do.News = a.News
	done, err := vaultinit.Run(ctx, do)
	var refused *vaultinit.RefusedError
	if errors.As(err, &refused) {
		return ui.Exitf(ui.ExitWaiting, "initialise Vault at %s: %w", o.address, err)
	}
	var authority x509.UnknownAuthorityError
	if errors.As(err, &authority) {
		err = fmt.Errorf("%w\nName the certificate authorities of Vault:\n    --ca-file FILE", err)
	}
	if err != nil {
		return session.Elsewhere("initialise Vault at "+o.address, err)
	}
	if err := o.writeManifests(do); err != nil {
		return err
	}
	if o.out.Machine() {
		return o.out.Print(a.Out, done)
	}
	if done.Verb == vaultinit.VerbNothing {
		a.News("%s.", done.Message)
		if done.Sealed {
			a.News("Vault is sealed. To unseal it, run the same command with -i for the identities of %d recipients.", done.Threshold)
		}
		return nil
	}
	if done.Members > 0 {
		a.News("Vault has %d servers, all of them unsealed.", 1+done.Members)
	}
	a.News("Vault %s is ready. Keep copies of %s; %d of its %d recipients unseal Vault together.", done.Version, o.keyFile, done.Threshold, done.Shares)
	return nil
}

func (o *options) read() (vaultinit.Options, error) {
	do := vaultinit.Options{Address: o.address, Members: o.members, KeyFile: o.keyFile, Threshold: o.threshold}
	texts := o.recipients
	for _, name := range o.files {
		file, err := os.Open(name)
		if err != nil {
			return do, fmt.Errorf("read the recipients: %w", err)
		}
		more, err := sealed.ReadRecipients(file)
		_ = file.Close() // only read
		if err != nil {
			return do, fmt.Errorf("read the recipients in %s: %w", name, err)
		}
		texts = append(texts, more...)
	}
	to, err := sealed.ParseRecipients(texts)
	if err != nil {
		return do, ui.WithCode(ui.ExitUsage, err)
	}
	do.Recipients, do.RecipientTexts = to.Keys, to.Texts
	if do.Identities, err = readIdentities(o.identities); err != nil {
		return do, err
	}
	if do.Authorities, err = optional(o.caFile); err != nil {
		return do, err
	}
	if o.reader == "" {
		return do, nil
	}
	do.Reader, err = o.readReader()
	return do, err
}

func (o *options) readReader() (*vaultinit.Reader, error) {
	r, err := vaultinit.NewReader(o.reader)
	if err != nil {
		return nil, ui.WithCode(ui.ExitUsage, err)
	}
	r.Host = o.host
	if r.CA, err = optional(o.hostCA); err != nil {
		return nil, err
	}
	token, err := optional(o.reviewer)
	r.ReviewerToken = string(token)
	return r, err
}

// optional reads a file; nothing for no name.
func optional(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	return os.ReadFile(name)
}

func readIdentities(names []string) ([]age.Identity, error) {
	var all []age.Identity
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the identities: %w", err)
		}
		some, err := sealed.ParseIdentities(name, data)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func (o *options) writeManifests(do vaultinit.Options) error {
	if o.manifests == "" || do.Reader == nil {
		return nil
	}
	text, err := do.Reader.Manifests(o.address, do.Authorities)
	if err != nil {
		return err
	}
	return os.WriteFile(o.manifests, text, 0o644) //nolint:gosec // it has no secrets
}
