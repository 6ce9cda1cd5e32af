// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/metadata"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// pushFlags are those of "yuba registry push".
type pushFlags struct {
	force, ignoreExisting, recursive bool
	version, semver, regex           string
	exclude                          []string
}

// newPushCommand is "yuba registry push".
func newPushCommand(a *session.App) *cobra.Command {
	var o pushFlags
	cmd := &cobra.Command{
		Use: "push DIR [NAMESPACE/NAME/SYSTEM@VERSION]", SuggestFor: []string{"publish", "upload"},
		Short: "Publish a directory as a version of a module",
		Long: `Publish a directory as a version of a module. Without a name, the directory's boring-registry.hcl has it; with --recursive,
the command publishes every directory below DIR that has such a file.

Published versions never change. Publishing the same files again succeeds and changes nothing; other files are an error. The
same files always make the same archive. The command honours .gitignore and .terraformignore, and always omits .git,
.terraform and state files.

The server reads the module without executing it, and compares its inputs, outputs, providers and submodules with those of
the release before. It refuses a patch release that breaks callers; a minor one only gets a warning.`,
		Example: "  yuba registry push ./vpc acme/vpc/aws@1.2.0\n  yuba registry push ./vpc --version 1.2.0\n" +
			"  yuba registry push --recursive ./modules --exclude 'tests/' --version-constraints-semver '>= 1.0'",
		Args: ui.Arguments(1, 2), ValidArgsFunction: ui.Directories,
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.force, "force", false, "publish a patch release that breaks callers, too")
	flags.BoolVar(&o.ignoreExisting, "ignore-existing", false, "skip versions that exist with other files")
	flags.BoolVarP(&o.recursive, "recursive", "r", false, "publish all directories below DIR that have a boring-registry.hcl")
	flags.StringVar(&o.version, "version", "", "the version to publish, instead of that in boring-registry.hcl")
	flags.StringVar(&o.semver, "version-constraints-semver", "", `publish only versions in this range, such as ">= 1.0, < 2"`)
	flags.StringVar(&o.regex, "version-constraints-regex", "", "publish only versions that match this regular expression")
	flags.StringArrayVar(&o.exclude, "exclude", nil, "leave out directories below DIR by a pattern as in .gitignore (repeatable)")
	for _, name := range []string{"version", "version-constraints-semver", "version-constraints-regex", "exclude"} {
		ui.CompleteFlag(cmd, name, ui.NoNames)
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		found, err := o.modules(cmd, args)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			s.News("There is nothing to publish.")
		}
		p := &publisher{Session: s, flags: o}
		for _, f := range found {
			if err := p.publish(cmd.Context(), f); err != nil {
				return err
			}
		}
		return p.show(out)
	})
	return cmd
}

// modules returns the directories to publish.
func (o *pushFlags) modules(cmd *cobra.Command, args []string) ([]metadata.Found, error) {
	switch {
	case o.recursive && len(args) > 1:
		return nil, ui.UsageErrorf(cmd, "--recursive takes names from boring-registry.hcl files: omit %s", args[1])
	case o.recursive && o.version != "":
		return nil, ui.UsageErrorf(cmd, "--version and --recursive are both given: the modules would all have the same version")
	case len(args) > 1 && o.version != "":
		return nil, ui.UsageErrorf(cmd, "the version is given twice: in %s and by --version", args[1])
	case len(o.exclude) > 0 && !o.recursive:
		return nil, ui.UsageErrorf(cmd, "--exclude needs --recursive")
	}
	keep, err := o.versions(cmd)
	if err != nil {
		return nil, err
	}
	var found []metadata.Found
	switch {
	case o.recursive:
		found, err = metadata.Find(args[0], o.exclude)
	case len(args) > 1:
		var v layout.ModuleVersion
		if v, err = layout.ParseModuleVersion(args[1]); err != nil {
			return nil, ui.UsageErrorf(cmd, "%w", err)
		}
		found = []metadata.Found{{Dir: args[0], Version: v}}
	default:
		var one metadata.Found
		one, err = metadata.Read(args[0], o.version)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, ui.UsageErrorf(cmd, "%s has no %s, so the name is missing: yuba registry push %s NAMESPACE/NAME/SYSTEM@VERSION", args[0], metadata.FileName, args[0])
		}
		found = []metadata.Found{one}
	}
	if err != nil {
		return nil, err
	}
	var kept []metadata.Found
	for _, f := range found {
		if keep(f.Version.Version) {
			kept = append(kept, f)
		}
	}
	return kept, nil
}

// result is what became of one directory.
type result struct {
	Path   string `json:"path"`
	Module string `json:"module"`
	// Status is published, unchanged, skipped or failed.
	Status  string           `json:"status"`
	Error   string           `json:"error,omitempty"`
	Digest  string           `json:"digest,omitempty"`
	Changes *catalog.Changes `json:"changes,omitempty"`
}

// publisher publishes directories one by one.
type publisher struct {
	*session.Session
	flags   pushFlags
	results []result
	failed  error
}

// publish publishes one directory. With --recursive the next ones are tried, whatever happens to it.
func (p *publisher) publish(ctx context.Context, f metadata.Found) error {
	published, err := p.send(ctx, f)
	r := result{Path: f.Dir, Module: f.Version.String()}
	switch {
	case err != nil && p.flags.ignoreExisting && apierrors.IsConflict(err):
		r.Status = "skipped"
		p.News("%s exists with other files; it was skipped.", f.Version)
	case err != nil:
		err = explained(err, "publish "+f.Version.String())
		r.Status, r.Error = "failed", err.Error()
		if !p.flags.recursive || ctx.Err() != nil {
			return err
		}
		p.News("%v", err)
		p.failed = err
	default:
		r.Status, r.Digest = "published", published.Release.Digest
		if published.Changes.Existed {
			r.Status = "unchanged"
			p.News("%s is unchanged: it was published with the same files.", f.Version)
		} else {
			r.Changes = &published.Changes
			p.tell(published)
		}
	}
	p.results = append(p.results, r)
	return nil
}

// send packs a directory and sends it.
func (p *publisher) send(ctx context.Context, f metadata.Found) (_ content.PublishedModule, err error) {
	packed, err := os.CreateTemp("", "yuba-module-*.tar.gz")
	if err != nil {
		return content.PublishedModule{}, err
	}
	defer func() { err = errors.Join(err, packed.Close(), os.Remove(packed.Name())) }()
	_, stats, err := archive.Pack(ctx, f.Dir, packed, archive.PackOptions{})
	if err != nil {
		return content.PublishedModule{}, err
	}
	if stats.Files == 0 {
		return content.PublishedModule{}, fmt.Errorf("%s contains only ignored files", f.Dir)
	}
	progress := p.NewProgress("Publishing " + f.Version.String())
	defer progress.End()
	return patiently(ctx, p.News, "publish "+f.Version.String(), func() (content.PublishedModule, error) {
		return p.Content.PublishModule(ctx, f.Version, shown{packed, progress}, p.flags.force)
	})
}

// tell reports a new version: how to use it, and what it changes.
func (p *publisher) tell(published content.PublishedModule) {
	r, changes := published.Release, published.Changes
	p.News("Published %s (%s).", r.ModuleVersion, ui.Size(r.Size))
	if r.Interface != nil {
		for _, warning := range r.Interface.Warnings {
			p.News("Warning: %s", diagnostic.Printable(warning))
		}
	}
	if changes.Uncompared != "" {
		p.News("It was not compared with %s, which cannot be read: %s", changes.Base, ui.FirstLine(diagnostic.Printable(changes.Uncompared), 300))
	}
	breaking := inspect.Breaking(changes.List)
	if len(breaking) > 0 {
		p.News("%s", p.Paint(p.Err, ui.ColorYellow, fmt.Sprintf("It breaks callers of %s:", changes.Base)))
	} else if len(changes.List) > 0 {
		p.News("Changes since %s:", changes.Base)
	}
	for _, c := range changes.List {
		if c.Breaking || len(breaking) == 0 {
			p.News("  - %s", diagnostic.Printable(c.Message))
		}
	}
}

func (p *publisher) show(out *ui.Output) error {
	switch {
	case out.Machine() && out.Form != "name" && p.flags.recursive:
		if p.results == nil {
			p.results = []result{}
		}
		if err := out.Print(p.Out, map[string][]result{"items": p.results}); err != nil {
			return err
		}
	case out.Machine() && out.Form != "name":
		for _, r := range p.results {
			if err := out.Print(p.Out, r); err != nil {
				return err
			}
		}
	default:
		for _, r := range p.results {
			if r.Status != "failed" {
				fmt.Fprintln(p.Out, r.Module)
			}
		}
	}
	if p.failed != nil {
		failed := 0
		for _, r := range p.results {
			if r.Status == "failed" {
				failed++
			}
		}
		return ui.Exitf(ui.ExitRefused, "%s of %d could not be published; see above", ui.Count(failed, "module"), len(p.results))
	}
	return nil
}
