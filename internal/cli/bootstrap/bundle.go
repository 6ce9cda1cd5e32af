// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/platform/plan"
	"github.com/yuba-dev/yuba/internal/registry/bundle"
	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

func (g *group) newBundleCommand() *cobra.Command {
	var modules string
	cmd := &cobra.Command{
		Use:   "bundle BLUEPRINT --modules DIR -o BUNDLE.tar",
		Short: "Pack all that a blueprint needs into one archive, for a bootstrap without the Internet",
		Long: `Pack all that a blueprint needs into one archive: the blueprint, the modules, OpenTofu, the providers of the modules that the
blueprint uses, and the images, charts and files that these modules declare. "yuba bootstrap --bundle" needs nothing else.

The newest versions of providers that the modules allow are chosen, unless a .terraform.lock.hcl beside a module names one. A module
declares what its machines and Pods need in a file bundle.yaml beside its main.tf:

  images: [registry.k8s.io/pause:3.10]
  charts: [charts/vault-0.30.0.tgz]
  manifests: [manifests]

A module that makes machines or objects in a cluster must have the file; it may say "nothing: true". Files, such as k3s, come from
their URLs, from a directory (--files), or from a mirror (--files-url), and are verified.

"yuba bundle push" brings images to a registry inside. The command prints the bundle's digest: carry it over another way than the
bundle, and give it to --bundle-digest.`,
		Example: "  yuba bootstrap bundle platform.yaml --modules ./modules -o bundle.tar\n" +
			"  yuba bootstrap bundle platform.yaml --modules ./modules --files ./downloads -o bundle.tar\n  yuba bootstrap --bundle bundle.tar --bundle-digest sha256:… --home ./acme --credentials local=local.env",
		Args: ui.Arguments(1, 1),
	}
	cmd.Flags().StringVar(&modules, "modules", "", "the directory with the modules of the blueprint's library")
	b := g.AddBundle(cmd)
	b.AddFileFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		read, err := g.read(args[0])
		if err != nil {
			return err
		}
		read.Platform.Name = read.Object.GetName()
		content, err := contentOf(cmd.Context(), read.Platform, modules, b.Platforms(), g.App.News)
		if err != nil {
			return ui.Exitf(ui.ExitUsage, "bundle what %s needs: %w", args[0], err)
		}
		content.Manifests = []string{args[0]}
		return b.Create(cmd, g.App, content)
	}
	return cmd
}

// contentOf is what the stacks of a platform need on some platforms of machines. warn gets what the bundle may lack.
func contentOf(ctx context.Context, p *yubav1.Platform, modules string, platforms []string, warn func(format string, args ...any)) (c bundle.Content, err error) {
	c.Needs = map[string][]string{}
	var ofLibrary []plan.Step
	for _, step := range plan.Steps(p, plan.Given{}) {
		switch {
		case step.Spec.Inline != nil:
			if err := inlineNeeds(ctx, step, &c, platforms, warn); err != nil {
				return c, err
			}
		case p.Spec.Library == nil || step.Spec.SourceRef.Kind != "ExternalArtifact" || step.Spec.SourceRef.Name != p.Spec.Library.SourceRef.Name:
			return c, fmt.Errorf("%s has its module in the %s %s, which a bundle cannot have: copy the module to the library, and let the library be an ExternalArtifact", step.ID, step.Spec.SourceRef.Kind, step.Spec.SourceRef.Name)
		case modules == "":
			return c, errors.New("name the directory of the library's modules with --modules DIR")
		default:
			ofLibrary = append(ofLibrary, step)
		}
	}
	if len(ofLibrary) > 0 {
		c.Modules = []string{modules}
		if err := libraryNeeds(ctx, ofLibrary, modules, &c, platforms, warn); err != nil {
			return c, err
		}
	}
	slices.Sort(c.Images)
	slices.Sort(c.Charts)
	c.Images, c.Charts = slices.Compact(c.Images), slices.Compact(c.Charts)
	return c, nil
}

// libraryNeeds adds what modules of the library need.
func libraryNeeds(ctx context.Context, steps []plan.Step, modules string, c *bundle.Content, platforms []string, warn func(format string, args ...any)) error {
	root, err := os.OpenRoot(modules)
	if err != nil {
		return fmt.Errorf("read the modules: %w", err)
	}
	defer root.Close() //nolint:errcheck // it was only read
	reader := module.NewProviderReader(root.FS(), module.ReadOptions{})
	read := map[string][]string{}
	for _, step := range steps {
		dir := path.Clean(step.Spec.Path)
		name := "the module " + dir
		providers, known := read[dir]
		if !known {
			if providers, err = addNeeds(ctx, reader, dir, name, c.Needs); err != nil {
				return err
			}
			read[dir] = providers
		}
		d, err := readDeclaration(root, dir)
		if err != nil {
			return err
		}
		if d == nil {
			if mustDeclare(step.Phase, providers) {
				return undeclaredError(name)
			}
			continue
		}
		if err := d.addTo(c, step, platforms, warn); err != nil {
			return fmt.Errorf("read %s of %s: %w", declarationName, name, err)
		}
		for _, chart := range d.Charts {
			c.Charts = append(c.Charts, filepath.Join(modules, filepath.FromSlash(dir), filepath.FromSlash(chart)))
		}
		for _, below := range d.Manifests {
			images, err := imagesBelow(root, dir, below)
			if err != nil {
				return err
			}
			c.Images = append(c.Images, images...)
		}
	}
	return nil
}

// inlineNeeds adds what a module in the blueprint itself needs.
func inlineNeeds(ctx context.Context, step plan.Step, c *bundle.Content, platforms []string, warn func(format string, args ...any)) (err error) {
	dir, err := os.MkdirTemp("", "yuba-module-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it is removed
	for name, text := range step.Spec.Inline {
		if err := root.WriteFile(name, []byte(text), 0o600); err != nil {
			return fmt.Errorf("read the module of %s: %w", step.ID, err)
		}
	}
	name := "the module of " + step.ID
	providers, err := addNeeds(ctx, module.NewProviderReader(root.FS(), module.ReadOptions{}), ".", name, c.Needs)
	if err != nil {
		return err
	}
	text, ok := step.Spec.Inline[declarationName]
	switch {
	case ok:
		d, err := parseDeclaration([]byte(text))
		if err == nil && len(d.Charts)+len(d.Manifests) > 0 {
			err = errors.New("a module in a blueprint has no files for charts and manifests")
		}
		if err == nil {
			err = d.addTo(c, step, platforms, warn)
		}
		if err != nil {
			return fmt.Errorf("read %s of %s: %w", declarationName, name, err)
		}
	case mustDeclare(step.Phase, providers):
		return undeclaredError(name)
	}
	return nil
}

// addNeeds adds the providers of a module and those that it calls. A bundle that lacked one would fail only inside.
// It returns their addresses.
func addNeeds(ctx context.Context, reader *module.ProviderReader, dir, name string, needs map[string][]string) (all []string, err error) {
	found, err := reader.Read(ctx, dir)
	switch {
	case err != nil:
		return nil, err
	case found.Remote:
		return nil, fmt.Errorf("%s calls modules that are elsewhere, which a bundle cannot have: copy them to the library", name)
	case found.Unclear != "":
		return nil, fmt.Errorf("find the providers of %s: %s", name, found.Unclear)
	}
	for source, constraints := range found.Providers {
		a, err := providers.ParseAddress(source, providers.DefaultHost("tofu"))
		if err != nil {
			return nil, fmt.Errorf("find the providers of %s: %w", name, err)
		}
		needs[a.String()] = append(needs[a.String()], constraints...)
		all = append(all, a.String())
	}
	return all, nil
}

// unbundle takes the blueprint and the modules from the bundle of --bundle, unless flags name others.
func (f *making) unbundle(cmd *cobra.Command, home string) (clean func(), err error) {
	name, digest := cmd.Flag("bundle").Value.String(), cmd.Flag("bundle-digest").Value.String()
	if name == "" || f.from != "" && f.modules != "" {
		return func() {}, nil
	}
	a, err := bundle.OpenFile(cmd.Context(), name, digest)
	if err != nil {
		return nil, fmt.Errorf("use the bundle %s: %w", name, err)
	}
	defer a.Close() //nolint:errcheck // it was only read
	takes := f.from == "" && a.Has(bundle.ManifestDir) || f.modules == "" && a.Has(bundle.ModuleDir)
	if digest == "" && takes {
		return nil, ui.Exitf(ui.ExitUsage, "use the bundle %s: its blueprint and modules would run with your credentials: give the digest that \"yuba bootstrap bundle\" printed to --bundle-digest, or name others with --from and --modules. Nothing of it was used", name)
	}
	dir, clean, err := besides(home)
	if err != nil {
		return nil, fmt.Errorf("use the bundle %s: %w", name, err)
	}
	err = a.Extract(cmd.Context(), dir, bundle.ManifestDir, bundle.ModuleDir)
	own := f.from != "" // a blueprint of one's own need not use the bundle's modules
	if err == nil && !own && a.Has(bundle.ManifestDir) {
		f.from, err = onlyIn(filepath.Join(dir, bundle.ManifestDir), "blueprint", "--from FILE")
	}
	if err == nil && f.modules == "" && a.Has(bundle.ModuleDir) {
		if f.modules, err = onlyIn(filepath.Join(dir, bundle.ModuleDir), "directory of modules", "--modules DIR"); err != nil && own {
			f.modules, err = "", nil
		}
	}
	if err != nil {
		clean()
		return nil, fmt.Errorf("use the bundle %s: %w", name, err)
	}
	return clean, nil
}

// onlyIn is the only entry of a directory of a bundle.
func onlyIn(dir, what, flag string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if len(entries) != 1 {
		return "", fmt.Errorf("it has %d entries in %s, and no flag says which one is the %s: use %s", len(entries), filepath.Base(dir), what, flag)
	}
	return filepath.Join(dir, entries[0].Name()), nil
}
