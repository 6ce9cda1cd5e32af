// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/mirror"
)

// exportFlags are those of "yuba registry mirror".
type exportFlags struct {
	to        string
	platforms []string
	allow     []string
	force     bool
}

// exportHelp is about the command, and its short form without "export".
const exportHelp = `Download and verify all providers in dependency lock files, and write them to an archive that a server without access to the
Internet imports. The command needs no server. It verifies checksums and signatures, and compares the archives with the hashes
in the lock files.`

// newMirrorCommand is "yuba registry mirror". With lock files it is "yuba registry mirror export".
func newMirrorCommand(a *session.App) *cobra.Command {
	cmd, out, o := newExporter(&cobra.Command{
		Use:   "mirror [LOCKFILE… --to ARCHIVE.tar]",
		Short: "Manage the mirror of providers, and carry providers across an air gap",
		Long: `Manage the mirror of other registries' providers. It downloads each provider when somebody first asks for it. A server without
access to the Internet imports archives instead, which "yuba registry mirror export" writes on a machine that has it.

"yuba registry mirror LOCKFILE… --to ARCHIVE.tar" is short for "yuba registry mirror export LOCKFILE… --to ARCHIVE.tar", and takes
the same flags.`,
		Example: "  yuba registry mirror list\n  yuba registry mirror .terraform.lock.hcl --to providers.tar\n  yuba registry mirror import providers.tar",
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: lockFiles,
	})
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) { flag.Hidden = true }) // the help of export has them
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 && o.to == "":
			return cmd.Help()
		case len(args) > 0 && o.to == "" && !strings.HasSuffix(args[0], ".hcl"):
			return ui.UsageErrorf(cmd, "%q is not a command of the mirror, and not a lock file: %s wants lock files and --to", args[0], cmd.CommandPath())
		}
		return o.export(cmd, a, out, args)
	}
	cmd.AddCommand(newMirrorListCommand(a), newMirrorExportCommand(a), newMirrorImportCommand(a), newMirrorRemoveCommand(a))
	return cmd
}

func newMirrorExportCommand(a *session.App) *cobra.Command {
	cmd, out, o := newExporter(&cobra.Command{
		Use:   "export LOCKFILE… --to ARCHIVE.tar",
		Short: "Write the providers in lock files to an archive",
		Long:  exportHelp,
		Example: "  yuba registry mirror export .terraform.lock.hcl --to providers.tar\n" +
			"  yuba registry mirror export */.terraform.lock.hcl --to providers.tar --platform linux_amd64 --platform darwin_arm64",
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: lockFiles,
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.export(cmd, a, out, args) }
	return cmd
}

// lockFiles completes with files.
func lockFiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{"hcl"}, cobra.ShellCompDirectiveFilterFileExt
}

// newExporter adds the flags of an export.
func newExporter(cmd *cobra.Command) (*cobra.Command, *ui.Output, *exportFlags) {
	o := &exportFlags{}
	flags := cmd.Flags()
	flags.StringVar(&o.to, "to", "", "the archive to write")
	flags.StringArrayVar(&o.platforms, "platform", []string{runtime.GOOS + "_" + runtime.GOARCH}, "a platform, OS_ARCH (repeatable)")
	flags.StringArrayVar(&o.allow, "allow", nil, "download only providers that match HOST/NAMESPACE/NAME, where * is any text; hosts in private networks must be named (repeatable)")
	flags.BoolVar(&o.force, "force", false, "replace an existing archive")
	ui.CompleteFlag(cmd, "platform", ui.NoNames)
	ui.CompleteFlag(cmd, "allow", ui.NoNames)
	return cmd, ui.AddOutputFlag(cmd, "json", "yaml", "name"), o
}

// export writes an archive of what lock files name.
func (o *exportFlags) export(cmd *cobra.Command, a *session.App, out *ui.Output, lockFiles []string) error {
	if o.to == "" {
		return ui.UsageErrorf(cmd, "--to is missing: name the archive to write")
	}
	var platforms []layout.Platform
	for _, text := range o.platforms {
		p, err := layout.ParsePlatform(text)
		if err != nil {
			return ui.UsageErrorf(cmd, "--platform: %w", err)
		}
		platforms = append(platforms, p)
	}
	wants, err := wanted(lockFiles)
	if err != nil {
		return err
	}
	s, err := a.Unconnected()
	if err != nil {
		return err
	}
	list := content.CarriedList{Items: []mirror.Carried{}}
	err = writeNew(o.to, o.force, func(w io.Writer, dir string) error {
		return mirror.Export(cmd.Context(), wants, platforms, mirror.Options{Allow: o.allow}, dir, w, func(c mirror.Carried) {
			list.Items = append(list.Items, c)
			s.News("%d/%d  %s %s for %s, %s, %s", len(list.Items), len(wants)*len(platforms), c.Provider, c.Version, c.Platform, ui.Size(c.Size), signedBy(c))
		})
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", o.to, err)
	}
	if out.Machine() {
		return printCarried(s, out, list)
	}
	s.News("%s is written. Import it at the other side:\n    yuba registry mirror import %s", o.to, filepath.Base(o.to))
	return nil
}

func signedBy(c mirror.Carried) string {
	if c.Signer == "" {
		return "not signed"
	}
	return "signed by " + c.Signer
}

func wanted(lockFiles []string) (wants []mirror.Want, err error) {
	for _, path := range lockFiles {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the lock file: %w", err)
		}
		if wants, err = mirror.Wanted(wants, text); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(wants) == 0 {
		return nil, fmt.Errorf("%s: there are no providers in it", strings.Join(lockFiles, ", "))
	}
	return wants, nil
}

// writeNew writes a file that appears only when it is complete. dir is a directory beside it.
func writeNew(path string, force bool, write func(w io.Writer, dir string) error) (err error) {
	if _, err := os.Lstat(path); err == nil && !force {
		return errors.New("it exists; use --force to replace it")
	}
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	err = write(file, dir)
	if err == nil {
		err = errors.Join(file.Chmod(0o644), file.Sync())
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

func printCarried(s *session.Session, out *ui.Output, list content.CarriedList) error {
	if out.Form != "name" {
		return out.Print(s.Out, list)
	}
	for _, c := range list.Items {
		if _, err := fmt.Fprintf(s.Out, "%s@%s %s\n", c.Provider, c.Version, c.Platform); err != nil {
			return err
		}
	}
	return nil
}

func newMirrorImportCommand(a *session.App) *cobra.Command {
	var unsigned, newKeys bool
	cmd := &cobra.Command{
		Use:   "import ARCHIVE.tar",
		Short: "Import providers into the mirror of a server",
		Long: `Import an archive that "yuba registry mirror export" wrote. The server verifies all checksums and signatures before it stores
anything. Compare the keys that it shows with those that the export showed, or with the providers' websites: the archive
contains the keys, too.`,
		Example: "  yuba registry mirror import providers.tar",
		Args:    ui.Arguments(1, 1),
	}
	cmd.Flags().BoolVar(&unsigned, "allow-unsigned", false, "import also providers of registry.opentofu.org that are not signed")
	cmd.Flags().BoolVar(&newKeys, "allow-new-keys", false, "import also releases signed by a key that the mirror does not have for the provider's namespace, although it has others")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		file, err := os.Open(args[0])
		if err != nil {
			return fmt.Errorf("import providers: %w", err)
		}
		defer file.Close() //nolint:errcheck // it was only read
		progress := s.NewProgress("Importing " + args[0])
		list, err := s.Content.ImportMirror(cmd.Context(), shown{file, progress}, unsigned, newKeys)
		progress.End()
		if err != nil {
			return explained(err, "import "+args[0])
		}
		if out.Machine() {
			return printCarried(s, out, list)
		}
		for _, c := range list.Items {
			note := ""
			if c.NewKey {
				note = ", a key that the mirror did not have before"
			}
			s.News("%s %s for %s, %s, %s%s", c.Provider, c.Version, c.Platform, ui.Size(c.Size), signedBy(c), note)
		}
		return nil
	})
	return cmd
}

// shown is a file that shows how much of it was read.
type shown struct {
	*os.File
	progress io.Writer
}

func (f shown) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.progress.Write(p[:n]) //nolint:errcheck // it counts
	return n, err
}

func newMirrorListCommand(a *session.App) *cobra.Command {
	cmd := listing.ServerCommand(a, &cobra.Command{
		Use: "list", Aliases: []string{"ls"},
		Short:   "List the providers in the mirror of a server",
		Long:    "List the providers of other registries that the server's mirror has, with their platforms, size and last use.",
		Example: "  yuba registry mirror list\n  yuba registry mirror list -o json",
	}, func(ctx context.Context, s *session.Session) (*listing.List, error) {
		list, err := s.Content.Mirror(ctx)
		if err != nil {
			return nil, explained(err, "list the mirror")
		}
		return listedMirror(list, time.Now()), nil
	})
	return cmd
}

func listedMirror(list content.MirrorList, now time.Time) *listing.List {
	l := &listing.List{Answer: list, None: "The mirror is empty. It downloads a provider when somebody first asks for it.",
		Rows: [][]string{{"PROVIDER", "VERSION", "PLATFORMS", "SIZE", "USED"}}}
	var total int64
	for _, e := range list.Items {
		used := "unknown"
		if !e.Used.IsZero() {
			used = ui.Age(now, e.Used) + " ago"
		}
		total += e.Size
		l.Add(e.Provider+"@"+e.Version, e.Provider, e.Version, strings.Join(e.Platforms, ","), ui.Size(e.Size), used)
	}
	l.Sum = ui.Size(total) + " in total."
	return l
}

func newMirrorRemoveCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove HOST/NAMESPACE/NAME[@VERSION]",
		Short: "Remove a provider from the mirror of a server",
		Long: `Remove a version of a provider from the server's mirror, or all of them. The mirror downloads it again when somebody asks for
it, unless it works offline.`,
		Example: "  yuba registry mirror remove registry.opentofu.org/hashicorp/aws@6.21.0\n  yuba registry mirror remove registry.opentofu.org/hashicorp/aws",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.FirstWord(mirroredNames),
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		v, err := parseProviderVersion(args[0])
		if err == nil && v.Host == "" {
			err = fmt.Errorf("the provider %q: expected HOST/NAMESPACE/NAME, such as registry.opentofu.org/hashicorp/aws", args[0])
		}
		if err != nil {
			return ui.UsageErrorf(cmd, "%w", err)
		}
		removed, err := s.Content.RemoveMirrored(cmd.Context(), v.Provider, v.Version)
		if err != nil {
			return explained(err, "remove "+args[0])
		}
		if out.Machine() {
			return listedMirror(removed, time.Now()).Show(s.Console, out)
		}
		for _, e := range removed.Items {
			s.News("%s %s is removed (%s).", e.Provider, e.Version, ui.Size(e.Size))
		}
		return nil
	})
	return cmd
}
