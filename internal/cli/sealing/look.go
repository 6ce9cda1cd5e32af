// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/sealed"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// readFlags are the flags of commands that read an archive.
type readFlags struct {
	identities []string
	signer     string
}

func (f *readFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&f.identities, "identity", "i", nil, "a file of age-keygen with the identity of a recipient; can be repeated")
	cmd.Flags().StringVar(&f.signer, "signer", "", "the fingerprint of the key that must have signed the archive (SHA256:…)")
}

func (f *readFlags) read() ([]age.Identity, error) {
	var all []age.Identity
	for _, name := range f.identities {
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

// open opens an archive and checks who signed it.
func (f *readFlags) open(ctx context.Context, place string) (*sealed.Archive, io.Closer, error) {
	a, file, err := sealed.OpenPlace(ctx, place)
	if err != nil {
		return nil, nil, explain(place, err)
	}
	if f.signer == "" || f.signer == a.Signer {
		return a, file, nil
	}
	by := a.Signer
	if by == "" {
		by = "nobody"
	}
	return nil, nil, errors.Join(ui.Exitf(ui.ExitFailure, "archive %s: it is signed by %s, not by %s. Do not trust it", place, by, f.signer), file.Close())
}

// explain says that an archive is damaged, and what to do.
func explain(place string, err error) error {
	var bad *sealed.BadError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &bad):
		return fmt.Errorf("archive %s: %w. Use another copy of it; nothing was changed", place, err)
	case errors.Is(err, sealed.ErrNoIdentity):
		return ui.Exitf(ui.ExitFailure, "archive %s: %w. \"yuba archive show\" without -i lists its recipients; name the file with the identity of one: -i FILE", place, err)
	}
	return fmt.Errorf("archive %s: %w", place, err)
}

// verified is the answer of "yuba archive verify".
type verified struct {
	Archive  string   `json:"archive"`
	Intact   bool     `json:"intact"`
	Signer   string   `json:"signer,omitempty"`
	Trusted  bool     `json:"trusted"`
	Members  int      `json:"members,omitempty"`
	Stacks   []string `json:"stacks"`
	Readable bool     `json:"readable"`
}

func newVerifyCommand(a *session.App) *cobra.Command {
	f := &readFlags{}
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Verify the signature and the checksums of an archive",
		Long: `Verify an archive in a file or bucket: its layout, its signature, and the checksums of everything in it. This needs neither a
server nor an identity. With -i, the command also decrypts the archive and verifies the checksum of each member.

The signature proves that the owner of a key wrote the archive. Compare the key with the one that "yuba archive" printed: --signer.`,
		Example: "  yuba archive verify 2026.archive --signer SHA256:…\n  yuba archive verify s3://archives/team-a -i key.txt",
		Args:    ui.Arguments(1, 1),
	}
	f.add(cmd)
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return verify(cmd.Context(), a, f, args[0], out) }
	return cmd
}

func verify(ctx context.Context, a *session.App, f *readFlags, place string, out *ui.Output) error {
	identities, err := f.read()
	if err != nil {
		return err
	}
	archive, file, err := f.open(ctx, place)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	if err := archive.Verify(ctx); err != nil {
		return explain(place, err)
	}
	done := verified{Archive: place, Intact: true, Signer: archive.Signer, Trusted: f.signer != "", Stacks: archive.Header.Stacks}
	if len(identities) > 0 {
		index, err := archive.ReadIndex(identities...)
		if err != nil {
			return explain(place, err)
		}
		if err := archive.Each(ctx, index, identities, func(string, io.Reader) error { return nil }); err != nil {
			return explain(place, err)
		}
		done.Members, done.Readable = len(index.Members), true
	}
	if out.Machine() {
		return out.Print(a.Out, done)
	}
	switch {
	case done.Signer == "":
		fmt.Fprintln(a.Out, "The archive is intact, but nobody has signed it.")
	case done.Trusted:
		fmt.Fprintf(a.Out, "The archive is intact and signed by %s.\n", done.Signer)
	default:
		fmt.Fprintf(a.Out, "The archive is intact and signed by %s. Compare this key with the one of the home, or name that with --signer.\n", done.Signer)
	}
	if done.Readable {
		fmt.Fprintf(a.Out, "It can be decrypted, and all %d members have their checksums.\n", done.Members)
	}
	return nil
}

// shown is the answer of "yuba archive show".
type shown struct {
	sealed.Header
	Signer string        `json:"signer,omitempty"`
	Index  *sealed.Index `json:"index,omitempty"`
}

func newShowCommand(a *session.App) *cobra.Command {
	f := &readFlags{}
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "Show what an archive has",
		Long: `Show when and where an archive was made, its stacks, and its recipients. With -i, the command also lists the states, versions and
runs of each stack; -o json lists all members. It verifies the signature, and not the checksums.`,
		Example: "  yuba archive show 2026.archive\n  yuba archive show 2026.archive -i key.txt -o json",
		Args:    ui.Arguments(1, 1),
	}
	f.add(cmd)
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return show(cmd.Context(), a, f, args[0], out) }
	return cmd
}

func show(ctx context.Context, a *session.App, f *readFlags, place string, out *ui.Output) error {
	identities, err := f.read()
	if err != nil {
		return err
	}
	archive, file, err := f.open(ctx, place)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	answer := shown{Header: archive.Header, Signer: archive.Signer}
	if len(identities) > 0 {
		index, err := archive.ReadIndex(identities...)
		if err != nil {
			return explain(place, err)
		}
		answer.Index = &index
	}
	if out.Machine() {
		return out.Print(a.Out, answer)
	}
	printShown(a, answer)
	return nil
}

func printShown(a *session.App, s shown) {
	line := func(label, format string, args ...any) {
		fmt.Fprintf(a.Out, "%-12s%s\n", label, diagnostic.Printable(fmt.Sprintf(format, args...)))
	}
	line("Created", "%s by Yuba %s", s.Created.Format("2006-01-02 15:04:05 MST"), s.Version)
	line("Home", "%s", s.Home)
	if s.Reason != "" {
		line("Reason", "%s", s.Reason)
	}
	signer := s.Signer
	if signer == "" {
		signer = "nobody"
	}
	line("Signed by", "%s", signer)
	for _, r := range s.Recipients {
		line("Recipient", "%s", r)
	}
	if s.Index == nil {
		for _, name := range s.Stacks {
			line("Stack", "%s", name)
		}
		return
	}
	for _, t := range s.Index.Stacks {
		has := []string{fmt.Sprintf("serial %d", t.Serial), ui.Count(t.Versions, "version"), ui.Count(t.Runs, "run")}
		switch {
		case t.OwnBackend:
			has[0] = "state in its own backend"
		case t.State == "":
			has[0] = "no state"
		}
		line("Stack", "%s/%s: %s", t.Namespace, t.Name, strings.Join(has, ", "))
	}
}
