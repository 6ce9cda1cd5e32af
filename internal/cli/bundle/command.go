// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/registry/bundle"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
)

// NewCommand is "yuba bundle".
func NewCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use: "bundle", SuggestFor: []string{"airgap", "air-gap", "offline"},
		Short: "Carry what a server needs across an air gap, in one archive",
		Long: `Carry OpenTofu, providers, modules, charts, images and manifests across an air gap in one archive, with checksums. A server that
starts with "yuba up --bundle BUNDLE.tar" makes no connections for them.`,
		Example: "  yuba bundle create -f platform.yaml --modules ./modules -o bundle.tar\n  yuba bundle verify bundle.tar\n  yuba up --bundle bundle.tar",
	}, newCreateCommand(a), newVerifyCommand(a), newPushCommand(a))
}

// creating are the flags of "yuba bundle create".
type creating struct {
	content   bundle.Content
	output    string
	platforms []string
	force     bool
}

func newCreateCommand(a *session.App) *cobra.Command {
	var f creating
	cmd := &cobra.Command{
		Use:   "create -o BUNDLE.tar",
		Short: "Pack OpenTofu, providers, modules, charts, images and manifests",
		Long: `Pack a bundle. It has OpenTofu ` + opentofu.Pinned + `, or the versions of --tofu; the manifests of -f; the directories of --modules, with the
providers that their lock files name; and the charts and images of the flags. Checksums and signatures are verified.

Files beginning with a dot, states and .tfvars files in directories of modules are left out. If the command is interrupted, it
keeps the parts in BUNDLE.tar.parts, and continues there. The same content makes the same archive.

The command prints the bundle's digest. Carry it over another way than the bundle, and give it to "yuba up --bundle-digest".`,
		Example: "  yuba bundle create -f platform.yaml --modules ./modules -o bundle.tar\n" +
			"  yuba bundle create --lock-file .terraform.lock.hcl --image docker.io/rancher/k3s:v1.32.5-k3s1 --chart ./charts/vault-0.30.0.tgz -o bundle.tar",
		Args: ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.content.Manifests, "filename", "f", nil, "a file with manifests, such as those of a platform (repeatable)")
	flags.StringArrayVar(&f.content.Modules, "modules", nil, "a directory with modules (repeatable)")
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.run(cmd, a) }
	return cmd
}

// Making has the flags of a command that creates a bundle of something.
type Making struct{ creating }

// AddFlags adds them to a command.
func AddFlags(cmd *cobra.Command) *Making {
	m := &Making{}
	m.add(cmd)
	return m
}

// AddFileFlags adds those for files that modules declare.
func (m *Making) AddFileFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.content.FilesFrom, "files", "", "a directory with the files that modules declare, such as k3s; nothing is downloaded then")
	cmd.Flags().StringVar(&m.content.FilesURL, "files-url", "", "a mirror of these files (default where the modules say)")
	cmd.MarkFlagsMutuallyExclusive("files", "files-url")
	ui.CompleteFlag(cmd, "files-url", ui.NoNames)
}

// Platforms are those of --platform.
func (m *Making) Platforms() []string { return m.platforms }

// Create writes the bundle, with more content than the flags name.
func (m *Making) Create(cmd *cobra.Command, a *session.App, more bundle.Content) error {
	c := &m.content
	c.Manifests, c.Modules, c.Needs = append(c.Manifests, more.Manifests...), append(c.Modules, more.Modules...), more.Needs
	c.Charts, c.Images, c.Files = append(c.Charts, more.Charts...), append(c.Images, more.Images...), more.Files
	return m.run(cmd, a)
}

// add adds the flags that do not depend on what the bundle is of.
func (f *creating) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "to", "o", "", "the archive to write")
	flags.StringArrayVar(&f.content.LockFiles, "lock-file", nil, "a dependency lock file that names providers (repeatable)")
	flags.StringArrayVar(&f.content.Charts, "chart", nil, "a chart, as a .tgz file; name charts in OCI registries with --image (repeatable)")
	flags.StringArrayVar(&f.content.Images, "image", nil, "an image or a chart in an OCI registry, HOST/REPOSITORY:TAG (repeatable)")
	flags.StringArrayVar(&f.content.Tools, "tofu", []string{opentofu.Pinned}, "a version of OpenTofu (repeatable)")
	flags.StringVar(&f.content.ToolSource.URL, "tools-url", "", "a mirror of OpenTofu's releases (default OpenTofu's own)")
	flags.StringVar(&f.content.ToolSource.KeyFile, "tools-key", "", "a file with the keys, one of which must have signed them (default OpenTofu's key)")
	flags.StringArrayVar(&f.platforms, "platform", []string{runtime.GOOS + "_" + runtime.GOARCH}, "a platform, OS_ARCH (repeatable)")
	flags.StringArrayVar(&f.content.Allow, "allow", nil, "download only providers that match HOST/NAMESPACE/NAME, where * is any text; hosts in private networks must be named (repeatable)")
	flags.BoolVar(&f.force, "force", false, "replace an existing archive")
	for _, name := range []string{"image", "tofu", "tools-url", "platform", "allow"} {
		ui.CompleteFlag(cmd, name, ui.NoNames)
	}
}

func (f *creating) run(cmd *cobra.Command, a *session.App) error {
	if f.output == "" {
		return ui.UsageErrorf(cmd, "--to is missing: name the archive to write")
	}
	for _, text := range f.platforms {
		p, err := layout.ParsePlatform(text)
		if err != nil {
			return ui.UsageErrorf(cmd, "--platform: %w", err)
		}
		f.content.Platforms = append(f.content.Platforms, p)
	}
	for i, text := range f.content.Tools {
		v, err := opentofu.ParseVersion(text)
		if err != nil {
			return ui.UsageErrorf(cmd, "--tofu: %w", err)
		}
		f.content.Tools[i] = v
	}
	if _, err := os.Lstat(f.output); err == nil && !f.force {
		return fmt.Errorf("write %s: it exists; use --force to replace it", f.output)
	}
	parts := f.output + ".parts"
	if err := os.Mkdir(parts, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write %s: %w", f.output, err)
	}
	if err := bundle.Collect(cmd.Context(), f.content, parts, a.News); err != nil {
		return session.Elsewhere("create "+f.output, fmt.Errorf("%w\nThe parts so far are in %s: the same command continues there", err, parts))
	}
	s, err := packTo(cmd, parts, f.output)
	if err != nil {
		return err
	}
	a.News("%s has %d files, %s. Its digest is", f.output, len(s.Files), ui.Size(s.Size))
	fmt.Fprintln(a.Out, s.Digest)
	return bundle.Remove(parts)
}

// packTo writes the archive under another name until it is whole.
func packTo(cmd *cobra.Command, parts, output string) (s bundle.Summary, err error) {
	file, err := os.Create(output + ".tmp")
	if err != nil {
		return s, err
	}
	s, err = bundle.Pack(cmd.Context(), parts, file)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return s, errors.Join(fmt.Errorf("write %s: %w", output, err), os.Remove(file.Name()))
	}
	return s, os.Rename(file.Name(), output)
}

func newVerifyCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "verify BUNDLE.tar",
		Short:   "Verify all checksums of a bundle, and list what it has",
		Long:    "Read a bundle, compare each file with the checksums of its index, and list the files. Compare the digest with that of \"yuba bundle create\".",
		Example: "  yuba bundle verify bundle.tar\n  yuba bundle verify bundle.tar -o json",
		Args:    ui.Arguments(1, 1),
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opened, err := bundle.OpenFile(cmd.Context(), args[0], "")
		if err != nil {
			return fmt.Errorf("verify %s: %w", args[0], err)
		}
		defer opened.Close() //nolint:errcheck // it was only read
		s := opened.Summary
		if out.Machine() {
			return out.Print(a.Out, s)
		}
		rows := [][]string{{"FILE", "SIZE", "SHA256"}}
		for _, f := range s.Files {
			rows = append(rows, []string{f.Path, ui.Size(f.Size), f.SHA256})
		}
		a.News("Verified %d files, %s. The digest is %s.", len(s.Files), ui.Size(s.Size), s.Digest)
		return a.Table(rows, nil)
	}
	return cmd
}

func newPushCommand(a *session.App) *cobra.Command {
	var to string
	var insecure bool
	cmd := &cobra.Command{
		Use:   "push BUNDLE.tar --to REGISTRY",
		Short: "Push the images and OCI charts of a bundle to a registry",
		Long: `Verify a bundle, and push its images and OCI charts to a registry, under their own repositories and tags, without unpacking it:
docker.io/rancher/k3s:v1 becomes REGISTRY/rancher/k3s:v1. Credentials are those of "docker login".`,
		Example: "  yuba bundle push bundle.tar --to registry.corp.example\n  yuba bundle push bundle.tar --to registry.corp.example/mirror",
		Args:    ui.Arguments(1, 1),
	}
	cmd.Flags().StringVar(&to, "to", "", "the registry, HOST or HOST/PATH")
	cmd.Flags().BoolVar(&insecure, "plain-http", false, "speak HTTP without TLS with the registry")
	ui.CompleteFlag(cmd, "to", ui.NoNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if to == "" {
			return ui.UsageErrorf(cmd, "--to is missing: name the registry")
		}
		opened, err := bundle.OpenFile(cmd.Context(), args[0], "")
		if err != nil {
			return fmt.Errorf("push %s: %w", args[0], err)
		}
		defer opened.Close() //nolint:errcheck // it was only read
		pushed := 0
		err = opened.Push(cmd.Context(), to, insecure, func(from, to string) {
			pushed++
			fmt.Fprintln(a.Out, to)
		})
		if err == nil && pushed == 0 {
			a.News("%s has no images.", args[0])
		}
		return session.Elsewhere("push the images of "+args[0], err)
	}
	return cmd
}
