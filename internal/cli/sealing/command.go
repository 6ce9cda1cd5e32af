// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/sealed"
)

// options are the flags of "yuba archive".
type options struct {
	to         string
	recipients []string
	files      []string
	all        bool
	versions   bool
	inputs     bool
	unsigned   bool
	lockFor    time.Duration
	reason     string
	wipe       []string
	yes        bool
	out        *ui.Output
}

// NewCommand is "yuba archive".
func NewCommand(a *session.App) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "archive {NAME... | --all | platform/NAME} --to FILE -r AGE-RECIPIENT",
		Short: "Write stacks to one sealed, signed and encrypted archive",
		Long: `Write stacks to one archive that is kept for years: their states, manifests, lock files, programs, and the records, logs and
plans of their runs. The archive is signed with the home's key and encrypted with age for the recipients. It is written once:
the command replaces no file and no object. It reads the archive back and verifies it before it reports success.

NAME is a stack, platform/NAME all stacks of a platform, --all all stacks of the namespace of -n. Recipients are public keys (age1…);
keep their identities offline. The archive has the current states; with --versions, also all earlier ones. It has no Secrets and
ConfigMaps; with --inputs, those that the stacks name.

--to is a file, or an object in a bucket: s3://BUCKET/NAME, gs:// or azblob://. With --lock-for, S3's object lock keeps the object
from being deleted for that time.

With --wipe-credentials, the command deletes these Secrets once the archive is verified, proves that they are gone, and lists what
still refers to them.

Reading an archive needs no Yuba: its README.txt has the commands of age, tar and openssl.`,
		Example: "  yuba archive vpc dns --to 2026.archive -r age1… --versions\n  yuba archive --all -n team-a --to s3://archives/team-a --recipients-file keys.txt --lock-for 8760h\n" +
			"  yuba archive platform/acme --to acme.archive -r age1… --wipe-credentials cloud-token\n  yuba archive verify 2026.archive",
		Args: ui.Arguments(0, -1), ValidArgsFunction: a.StackNames(true),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.to, "to", "", "the new file, or the new object in a bucket")
	flags.StringArrayVarP(&o.recipients, "recipient", "r", nil, "a public key of age that decrypts the archive; can be repeated")
	flags.StringArrayVar(&o.files, "recipients-file", nil, "a file with a public key a line; can be repeated")
	flags.BoolVar(&o.all, "all", false, "archive all stacks of the namespace")
	flags.BoolVar(&o.versions, "versions", false, "include all earlier versions of the states")
	flags.BoolVar(&o.inputs, "inputs", false, "include the Secrets and ConfigMaps that the stacks name")
	flags.BoolVar(&o.unsigned, "unsigned", false, "write an archive without a signature, if the server cannot sign")
	flags.DurationVar(&o.lockFor, "lock-for", 0, "how long S3's object lock must keep the archive")
	flags.StringVar(&o.reason, "reason", "", "a note, in clear text in the archive's header")
	flags.StringArrayVar(&o.wipe, "wipe-credentials", nil, "a Secret to delete after the archive is verified; can be repeated")
	flags.BoolVarP(&o.yes, "yes", "y", false, "delete Secrets without a question")
	o.out = ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		to, err := o.check(cmd, args)
		if err != nil {
			return err
		}
		chosen, err := choose(cmd, s, args, o.all)
		if err != nil {
			return err
		}
		return archive(cmd.Context(), s, o, to, chosen)
	})
	cmd.AddCommand(newVerifyCommand(a), newShowCommand(a), newRestoreCommand(a))
	return cmd
}

func (o *options) check(cmd *cobra.Command, args []string) (sealed.Recipients, error) {
	var none sealed.Recipients
	switch {
	case o.to == "":
		return none, ui.UsageErrorf(cmd, "name the archive to write: --to FILE")
	case (len(args) == 0) != o.all:
		return none, ui.UsageErrorf(cmd, "name the stacks, or --all for those of the namespace")
	case o.lockFor < 0 || o.lockFor > 0 && !sealed.InBucket(o.to):
		return none, ui.UsageErrorf(cmd, "--lock-for %s: want a positive time, and an archive in a bucket", o.lockFor)
	}
	texts := o.recipients
	for _, name := range o.files {
		file, err := os.Open(name)
		if err != nil {
			return none, fmt.Errorf("read the recipients: %w", err)
		}
		more, err := sealed.ReadRecipients(file)
		_ = file.Close() // only read
		if err != nil {
			return none, fmt.Errorf("read the recipients in %s: %w", name, err)
		}
		texts = append(texts, more...)
	}
	if len(texts) == 0 {
		return none, ui.UsageErrorf(cmd, "name who can decrypt the archive: -r AGE-RECIPIENT, a public key of age-keygen")
	}
	to, err := sealed.ParseRecipients(texts)
	if err != nil {
		return none, ui.UsageErrorOf(cmd, err)
	}
	return to, nil
}

// written is the answer of "yuba archive".
type written struct {
	Archive    string         `json:"archive"`
	Size       int64          `json:"size"`
	Signer     string         `json:"signer,omitempty"`
	Recipients []string       `json:"recipients"`
	Stacks     []sealed.Stack `json:"stacks"`
	Wiped      []wiped        `json:"wiped,omitempty"`
}

// archive seals, stores, verifies, and then wipes.
func archive(ctx context.Context, s *session.Session, o *options, to sealed.Recipients, c chosen) error {
	if !sealed.InBucket(o.to) {
		// The end of the command notices it, too, but that may be minutes later.
		if _, err := os.Lstat(o.to); err == nil {
			return fmt.Errorf("write %s: %w", o.to, sealed.ErrExists)
		}
	}
	secrets, err := findWiped(ctx, s, o.wipe)
	if err != nil {
		return err
	}
	if err := askToWipe(s, o, secrets); err != nil {
		return err
	}
	packed, err := pack(ctx, s, o, to, c)
	if err != nil {
		return err
	}
	defer packed.Discard() //nolint:errcheck // the files have no names
	var until time.Time
	if o.lockFor > 0 {
		until = time.Now().Add(o.lockFor).UTC().Truncate(time.Second)
	}
	s.News("Writing %s to %s …", ui.Size(packed.Size), o.to)
	if err := packed.Store(ctx, o.to, until); err != nil {
		if len(secrets) > 0 {
			err = fmt.Errorf("%w.\nNo Secret was deleted", err)
		}
		return err
	}
	done := written{Archive: o.to, Size: packed.Size, Signer: packed.Signer, Recipients: to.Texts, Stacks: packed.index.Stacks}
	s.News("Wrote and verified %s with %s for %s.", o.to, ui.Count(len(done.Stacks), "stack"), ui.Count(len(to.Texts), "recipient"))
	if packed.Signer != "" {
		s.News("It is signed with the home's key %s: note it apart from the archive.", packed.Signer)
	}
	done.Wiped, err = wipe(ctx, s, secrets)
	if o.out.Machine() {
		if e := o.out.Print(s.Out, done); e != nil {
			return e
		}
	}
	return err
}
