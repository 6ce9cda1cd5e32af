// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/registry/foreign"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// The results for a version.
const (
	copiedNew       = "copied"
	copiedUnchanged = "unchanged"
	copiedSkipped   = "skipped"
	copiedDiffers   = "differs"
	copiedFailed    = "failed"
	copiedWould     = "would copy"
	copiedExists    = "exists"
)

// copied is what became of a version, or of a module none of whose versions could be found.
type copied struct {
	// From is HOST/NAMESPACE/NAME/SYSTEM@VERSION, and Module NAMESPACE/NAME/SYSTEM@VERSION here.
	From   string `json:"from"`
	Module string `json:"module,omitempty"`
	// Status is copied, unchanged, skipped, differs or failed; in a dry run "would copy" or exists.
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
	Digest string `json:"digest,omitempty"`
	Size   int64  `json:"size,omitempty"`
	// Calls are the sources on the other host that the module calls; they still lead there.
	Calls []string `json:"calls,omitempty"`
}

// copier copies modules one by one.
type copier struct {
	*session.Session
	flags    copyFlags
	from     foreignModules
	registry *foreign.Registry
	results  []copied
}

// module copies the versions of a module. It returns only errors that would end the next ones, too.
func (c *copier) module(ctx context.Context, name string) error {
	from := c.from.host + "/" + name
	to, err := c.from.to(name)
	if err != nil {
		c.add(copied{From: from, Status: copiedFailed, Error: err.Error()})
		return nil
	}
	versions, invalid, err := c.registry.Versions(ctx, name)
	if err != nil {
		if ctx.Err() != nil || c.from.name == name {
			return err
		}
		c.add(copied{From: from, Status: copiedFailed, Error: err.Error()})
		return nil
	}
	here, err := c.existing(ctx, to)
	if err != nil {
		return err
	}
	chosen := versions
	if c.from.versions != "" {
		chosen = slices.DeleteFunc(slices.Clone(versions), func(v string) bool { return !c.from.allowed.Allow(v) })
		invalid = nil
	}
	if len(chosen) == 0 && len(invalid) == 0 {
		text := "it has no versions"
		if len(versions) > 0 {
			text = fmt.Sprintf("none of its versions is in %q: %s", c.from.versions, ui.SomeOf(versions, 10))
		}
		c.add(copied{From: from, Status: copiedFailed, Error: text})
	}
	for _, version := range invalid {
		c.add(copied{From: from + "@" + version, Status: copiedFailed, Error: fmt.Sprintf("the version %q: expected three numbers such as 1.2.0, or a pre-release such as 1.2.0-rc1", version)})
	}
	for i, version := range chosen {
		if err := c.version(ctx, name, layout.ModuleVersion{Module: to, Version: version}, slices.Contains(here, version), fmt.Sprintf("%d/%d", i+1, len(chosen))); err != nil {
			return err
		}
	}
	return nil
}

// existing are the versions that exist here.
func (c *copier) existing(ctx context.Context, m layout.Module) (versions []string, err error) {
	list, err := c.Content.ModuleReleases(ctx, m)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, explained(err, "list the versions of "+m.String())
	}
	for _, r := range list.Items {
		versions = append(versions, r.Version)
	}
	return versions, nil
}

// version copies one version.
func (c *copier) version(ctx context.Context, name string, to layout.ModuleVersion, exists bool, position string) error {
	r := copied{From: c.from.host + "/" + name + "@" + to.Version, Module: to.String()}
	_, err := layout.ParseVersion(to.Version)
	switch {
	case err != nil:
		r.Status, r.Error = copiedFailed, err.Error()
	case exists && c.flags.dryRun:
		r.Status = copiedExists
	case exists && c.flags.ignoreExisting:
		r.Status = copiedSkipped
	case c.flags.dryRun:
		r.Status = copiedWould
	default:
		var fatal error
		if r, fatal = c.transfer(ctx, name, to, r); fatal != nil {
			return fatal
		}
		c.News("%s  %s  %s", position, r.From, r.Status)
	}
	c.add(r)
	return nil
}

// transfer downloads and publishes one version. An error ends the command.
func (c *copier) transfer(ctx context.Context, name string, to layout.ModuleVersion, r copied) (copied, error) {
	dir, err := os.MkdirTemp("", "yuba-copy-*")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system removes temporary files some day
	progress := c.NewProgress("Downloading " + r.From)
	tree, err := c.registry.Fetch(ctx, name, to.Version, dir, progress)
	progress.End()
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	if err != nil {
		r.Status, r.Error = copiedFailed, err.Error()
		return r, nil
	}
	published, err := c.publish(ctx, to, tree, dir)
	switch {
	case apierrors.IsConflict(err):
		r.Status, r.Error = copiedDiffers, explained(err, "publish "+to.String()).Error()
	case apierrors.IsInvalid(err), apierrors.IsRequestEntityTooLargeError(err), archive.IsInvalid(err):
		r.Status, r.Error = copiedFailed, explained(err, "publish "+to.String()).Error()
	case err != nil:
		return r, explained(err, "publish "+to.String())
	default:
		r.Status, r.Digest, r.Size = copiedNew, published.Release.Digest, published.Release.Size
		if published.Changes.Existed {
			r.Status = copiedUnchanged
		}
		r.Calls = callsOf(published.Release.Interface, c.from.host)
	}
	return r, nil
}

// publish packs a tree and sends it. The same files always make the same archive, whatever archive the
// other registry made of them, so equal content is recognised.
func (c *copier) publish(ctx context.Context, v layout.ModuleVersion, tree, dir string) (_ content.PublishedModule, err error) {
	packed, err := os.CreateTemp(dir, "packed-*.tar.gz")
	if err != nil {
		return content.PublishedModule{}, err
	}
	defer func() { err = errors.Join(err, packed.Close()) }()
	// Everything in a published version was meant to be in it, whatever its .gitignore says.
	_, stats, err := archive.Pack(ctx, tree, packed, archive.PackOptions{Upstream: &archive.UpstreamRules{}})
	if err != nil {
		return content.PublishedModule{}, err
	}
	if len(stats.LeftOut) > 0 {
		c.News("Warning: %s has links that lead out of it, which are left out: %s", v, ui.SomeOf(stats.LeftOut, 5))
	}
	progress := c.NewProgress("Publishing " + v.String())
	defer progress.End()
	return patiently(ctx, c.News, "copy "+v.String(), func() (content.PublishedModule, error) {
		return c.Content.PublishModule(ctx, v, shown{packed, progress}, true)
	})
}

// callsOf returns the sources on a host that a module and its submodules call.
func callsOf(m *inspect.Module, host string) (sources []string) {
	if m == nil {
		return nil
	}
	collect := func(calls []inspect.Call) {
		for _, call := range calls {
			if strings.HasPrefix(strings.ToLower(call.Source), host+"/") && !slices.Contains(sources, call.Source) {
				sources = append(sources, call.Source)
			}
		}
	}
	collect(m.Calls)
	for _, part := range m.Submodules {
		collect(part.Calls)
	}
	slices.Sort(sources)
	return sources
}

func (c *copier) add(r copied) {
	c.results = append(c.results, r)
	if r.Error != "" {
		c.News("%s", diagnostic.Printable(r.Error))
	}
}

// show prints the results. The exit code says whether some could not be copied.
func (c *copier) show(out *ui.Output) error {
	l := &listing.List{Answer: map[string][]copied{"items": c.results}, None: "There is nothing to copy.", Rows: [][]string{{"FROM", "MODULE", "RESULT", "SIZE"}}}
	count := map[string]int{}
	calls := []string{}
	for _, r := range c.results {
		count[r.Status]++
		size := ""
		if r.Size > 0 {
			size = ui.Size(r.Size)
		}
		l.Rows = append(l.Rows, []string{r.From, r.Module, r.Status, size})
		if slices.Contains([]string{copiedNew, copiedUnchanged, copiedSkipped, copiedExists, copiedWould}, r.Status) {
			l.Names = append(l.Names, r.Module)
		}
		for _, source := range r.Calls {
			if !slices.Contains(calls, source) {
				calls = append(calls, source)
			}
		}
	}
	if err := l.Show(c.Console, out); err != nil {
		return err
	}
	var sums []string
	for _, status := range []string{copiedNew, copiedWould, copiedUnchanged, copiedExists, copiedSkipped, copiedDiffers, copiedFailed} {
		if count[status] > 0 {
			sums = append(sums, fmt.Sprintf("%d %s", count[status], status))
		}
	}
	if len(sums) > 0 {
		c.News("%s.", strings.Join(sums, ", "))
	}
	if len(calls) > 0 {
		slices.Sort(calls)
		c.News("Copies call modules on %s, and still need it and a token for it: %s\nPublish new versions of them with the new host in source.", c.from.host, ui.SomeOf(calls, 5))
	}
	if bad := count[copiedDiffers] + count[copiedFailed]; bad > 0 {
		return ui.Exitf(ui.ExitRefused, "%s of %d could not be copied; see above", ui.Count(bad, "version"), len(c.results))
	}
	return nil
}
