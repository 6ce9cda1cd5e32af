// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

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
blueprint uses, and the images and charts that these modules declare. "yuba bootstrap --bundle" needs nothing else.

The newest versions of providers that the modules allow are chosen, unless a .terraform.lock.hcl beside a module names one. A module
declares images and charts in a file bundle.yaml beside its main.tf:

  images: [registry.k8s.io/pause:3.10]
  charts: [charts/vault-0.30.0.tgz]

"yuba bundle push" brings images to a registry inside. The command prints the bundle's digest: carry it over another way than the
bundle, and give it to --bundle-digest.`,
		Example: "  yuba bootstrap bundle platform.yaml --modules ./modules -o bundle.tar\n  yuba bootstrap --bundle bundle.tar --bundle-digest sha256:… --home ./acme --credentials local=local.env",
		Args:    ui.Arguments(1, 1),
	}
	cmd.Flags().StringVar(&modules, "modules", "", "the directory with the modules of the blueprint's library")
	b := g.AddBundle(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		read, err := g.read(args[0])
		if err != nil {
			return err
		}
		read.Platform.Name = read.Object.GetName()
		content, err := contentOf(cmd.Context(), read.Platform, modules)
		if err != nil {
			return ui.Exitf(ui.ExitUsage, "bundle what %s needs: %w", args[0], err)
		}
		content.Manifests = []string{args[0]}
		return b.Create(cmd, g.App, content)
	}
	return cmd
}

// contentOf is what the stacks of a platform need.
func contentOf(ctx context.Context, p *yubav1.Platform, modules string) (c bundle.Content, err error) {
	needs := map[string][]string{}
	used := map[string]bool{}
	for _, step := range plan.Steps(p, plan.Given{}) {
		switch {
		case step.Spec.Inline != nil:
			if err := inlineNeeds(ctx, step, needs); err != nil {
				return c, err
			}
		case p.Spec.Library == nil || step.Spec.SourceRef.Kind != "ExternalArtifact" || step.Spec.SourceRef.Name != p.Spec.Library.SourceRef.Name:
			return c, fmt.Errorf("%s has its module in the %s %s, which a bundle cannot have: copy the module to the library, and let the library be an ExternalArtifact", step.ID, step.Spec.SourceRef.Kind, step.Spec.SourceRef.Name)
		case modules == "":
			return c, errors.New("name the directory of the library's modules with --modules DIR")
		default:
			used[path.Clean(step.Spec.Path)] = true
		}
	}
	if len(used) == 0 {
		return bundle.Content{Needs: needs}, nil
	}
	c = bundle.Content{Needs: needs, Modules: []string{modules}}
	root, err := os.OpenRoot(modules)
	if err != nil {
		return c, fmt.Errorf("read the modules: %w", err)
	}
	defer root.Close() //nolint:errcheck // it was only read
	reader := module.NewProviderReader(root.FS(), module.ReadOptions{})
	for _, dir := range slices.Sorted(maps.Keys(used)) {
		if err := addNeeds(ctx, reader, dir, "the module "+dir, needs); err != nil {
			return c, err
		}
		declared, err := declaredBy(root, dir)
		if err != nil {
			return c, err
		}
		c.Images = append(c.Images, declared.Images...)
		for _, chart := range declared.Charts {
			c.Charts = append(c.Charts, filepath.Join(modules, filepath.FromSlash(dir), filepath.FromSlash(chart)))
		}
	}
	slices.Sort(c.Images)
	c.Images = slices.Compact(c.Images)
	return c, nil
}

// inlineNeeds adds the providers of a module that is in the blueprint itself.
func inlineNeeds(ctx context.Context, step plan.Step, needs map[string][]string) (err error) {
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
	return addNeeds(ctx, module.NewProviderReader(root.FS(), module.ReadOptions{}), ".", "the module of "+step.ID, needs)
}

// addNeeds adds the providers of a module and those that it calls. A bundle that lacked one would fail only inside.
func addNeeds(ctx context.Context, reader *module.ProviderReader, dir, name string, needs map[string][]string) error {
	found, err := reader.Read(ctx, dir)
	switch {
	case err != nil:
		return err
	case found.Remote:
		return fmt.Errorf("%s calls modules that are elsewhere, which a bundle cannot have: copy them to the library", name)
	case found.Unclear != "":
		return fmt.Errorf("find the providers of %s: %s", name, found.Unclear)
	}
	for source, constraints := range found.Providers {
		a, err := providers.ParseAddress(source, providers.DefaultHost("tofu"))
		if err != nil {
			return fmt.Errorf("find the providers of %s: %w", name, err)
		}
		needs[a.String()] = append(needs[a.String()], constraints...)
	}
	return nil
}

// declaration is the file by which a module declares what its Pods need.
type declaration struct {
	Images []string `json:"images"`
	Charts []string `json:"charts"`
}

const (
	declarationName = "bundle.yaml"
	maxDeclaration  = 256 << 10
)

// declaredBy reads the declaration of a module; most have none.
func declaredBy(root *os.Root, dir string) (d declaration, err error) {
	name := path.Join(dir, declarationName)
	file, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return d, fmt.Errorf("read %s of the modules: %w", name, err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxDeclaration+1))
	if err == nil && len(text) > maxDeclaration {
		err = fmt.Errorf("it has more than %d KiB", maxDeclaration>>10)
	}
	if err == nil {
		err = yaml.UnmarshalStrict(text, &d)
	}
	for _, chart := range d.Charts {
		if err == nil && !filepath.IsLocal(filepath.FromSlash(chart)) {
			err = fmt.Errorf("the chart %q is not below the module", chart)
		}
	}
	if err != nil {
		return d, fmt.Errorf("read %s of the modules: %w", name, err)
	}
	return d, nil
}

// unbundle takes the blueprint and the modules from the bundle of --bundle, unless flags name others.
func (f *making) unbundle(cmd *cobra.Command) (clean func(), err error) {
	name, digest := cmd.Flag("bundle").Value.String(), cmd.Flag("bundle-digest").Value.String()
	if name == "" || f.from != "" && f.modules != "" {
		return func() {}, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the bundle: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	dir, err := os.MkdirTemp("", "yuba-bundle-")
	if err != nil {
		return nil, err
	}
	clean = func() { os.RemoveAll(dir) } //nolint:errcheck // it is a temporary directory
	summary, err := bundle.Read(cmd.Context(), file, dir)
	takes := f.from == "" && bundle.Has(dir, bundle.ManifestDir) || f.modules == "" && bundle.Has(dir, bundle.ModuleDir)
	if err == nil && digest == "" && takes {
		err = ui.Exitf(ui.ExitUsage, "its blueprint and modules would run with your credentials: give the digest that \"yuba bootstrap bundle\" printed to --bundle-digest, or name others with --from and --modules. Nothing of it was used")
	}
	if err == nil && digest != "" && digest != summary.Digest {
		err = fmt.Errorf("its digest is %s, and --bundle-digest is %s: it is another bundle, or somebody changed it. Nothing of it was used", summary.Digest, digest)
	}
	own := f.from != "" // a blueprint of one's own need not use the bundle's modules
	if err == nil && !own && bundle.Has(dir, bundle.ManifestDir) {
		f.from, err = onlyIn(filepath.Join(dir, bundle.ManifestDir), "blueprint", "--from FILE")
	}
	if err == nil && f.modules == "" && bundle.Has(dir, bundle.ModuleDir) {
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
