// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/gitops/sources/git"
	"github.com/yuba-dev/yuba/internal/gitops/sources/tags/decide"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// outcome is the result of a look.
type outcome struct {
	// generation and requested are those of the object when the look began.
	generation int64
	requested  string
	ended      time.Time
	// upstream is the key of the repository.
	upstream string
	// listed is true if the tags and the published versions are known; then decision says what is
	// published and refused now.
	listed   bool
	decision decide.Decision
	verdicts verdicts
	// published are the versions that this look published, in order.
	published []decide.Publish
	// err is why the look, or a part of it, failed: an *archive.FetchError, a *forbiddenError, an
	// *invalidError or a *registryError.
	err error
}

// invalidError means that an entry of spec.modules cannot be used.
type invalidError struct{ error }

// registryError means that the registry could not be read or written.
type registryError struct {
	action string
	err    error
}

func (e *registryError) Error() string { return e.action + ": " + e.err.Error() }
func (e *registryError) Unwrap() error { return e.err }

const (
	// youngLook is the maximum age of a shared look for an object whose author waits for it.
	youngLook = 10 * time.Second
	// sameBatch is the maximum age of a shared look for the rest of a batch.
	sameBatch = 10 * time.Minute
)

// look lists the tags of an object and publishes new ones. Do not modify the object during the call.
func (p *Publisher) look(ctx context.Context, o *yubav1.ModuleSource, fresh bool, known verdicts) *outcome {
	out := &outcome{generation: o.Generation, requested: requestOf(o), verdicts: known}
	if out.verdicts == nil {
		out.verdicts = verdicts{}
	}
	out.err = p.lookInto(ctx, o, fresh, out)
	out.ended = p.now()
	return out
}

func (p *Publisher) lookInto(ctx context.Context, o *yubav1.ModuleSource, fresh bool, out *outcome) error {
	rules, err := rulesOf(o)
	if err != nil {
		return err
	}
	up, err := p.upstream(ctx, o)
	if err != nil {
		return err
	}
	leave, err := p.hosts.Take(ctx, placeOf(o))
	if err != nil {
		return err
	}
	defer leave()
	facts := decide.Facts{Rules: rules, Most: p.Batch, Published: map[string][]decide.Published{}}
	if facts.Tags, out.upstream, err = p.list(ctx, o, up, maxAge(o, fresh)); err != nil {
		return err
	}
	for _, rule := range rules {
		if facts.Published[rule.Module], err = p.published(ctx, o, rule); err != nil {
			return err
		}
	}
	var forbidden error
	if facts.Forbidden, forbidden = p.permitted(ctx, o, rules); forbidden != nil && !isForbidden(forbidden) {
		return forbidden
	}
	facts.Verdicts = prune(out.verdicts, facts.Tags)
	out.verdicts = facts.Verdicts
	failed := p.publishAll(ctx, o, up, decide.Tags(facts).Publish, &facts, out)
	// The refused and the remaining tags, with the results of this look.
	out.decision, out.listed = decide.Tags(facts), true
	out.decision.Left += len(out.decision.Publish)
	return errors.Join(forbidden, failed)
}

// rulesOf returns the valid rules of an object.
func rulesOf(o *yubav1.ModuleSource) (rules []*decide.Matcher, err error) {
	for _, m := range o.Spec.Modules {
		if _, err := layout.ParseModule(m.Name); err != nil {
			return nil, &invalidError{err}
		}
		rule, err := decide.Rule{Module: m.Name, Path: m.Path, Pattern: m.Tag, Range: m.SemVer, IgnorePrereleases: m.IgnorePrereleases}.Compile()
		if err != nil {
			return nil, &invalidError{err}
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// list lists the tags.
func (p *Publisher) list(ctx context.Context, o *yubav1.ModuleSource, up git.Upstream, age time.Duration) ([]decide.Tag, string, error) {
	ctx, cancel := context.WithTimeout(ctx, o.GetTimeout())
	defer cancel()
	found, key, err := p.Git.Tags(ctx, up, age)
	if err != nil {
		return nil, key, attempted(ctx, "list the tags of "+repositoryOf(o), err)
	}
	tags := make([]decide.Tag, 0, len(found))
	for _, tag := range found {
		tags = append(tags, decide.Tag{Name: tag.Name, Commit: tag.Commit})
	}
	return tags, key, nil
}

// attempted makes a failure for the status.
func attempted(ctx context.Context, action string, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = errors.Join(ctx.Err(), err)
	}
	return upstream.Attempted(sourcev1.GitOperationFailedReason, action, err, error.Error)
}

// published returns what the registry has of a module.
func (p *Publisher) published(ctx context.Context, o *yubav1.ModuleSource, rule *decide.Matcher) ([]decide.Published, error) {
	module, err := layout.ParseModule(rule.Module)
	if err != nil {
		return nil, &invalidError{err}
	}
	releases, err := p.Registry.Versions(ctx, module)
	if errors.Is(err, catalog.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, &registryError{"list the published versions of " + rule.Module, err}
	}
	all := make([]decide.Published, 0, len(releases))
	for _, r := range releases {
		one := decide.Published{Version: r.Version, Digest: r.Digest}
		if r.From != nil && r.From.Repository == repositoryOf(o) && r.From.Path == decide.CleanPath(rule.Path) {
			one.Tag, one.Commit = r.From.Tag, r.From.Commit
		}
		all = append(all, one)
	}
	return all, nil
}

// prune returns the verdicts about current tags.
func prune(known verdicts, tags []decide.Tag) verdicts {
	current := map[decide.Tag]bool{}
	for _, tag := range tags {
		current[tag] = true
	}
	kept := verdicts{}
	for key, verdict := range known {
		if current[decide.Tag{Name: key.Tag, Commit: key.Commit}] {
			kept[key] = verdict
		}
	}
	return kept
}

// maxAge returns the maximum age of a shared look. All objects of one upstream share a look in each
// interval; it is shorter than the interval with its jitter, so an object never reuses its own.
func maxAge(o *yubav1.ModuleSource, fresh bool) time.Duration {
	switch {
	case fresh:
		return 0
	case o.Status.ObservedGeneration == 0:
		return youngLook
	}
	return min(o.GetRequeueAfter()/10*9, sameBatch)
}

// placeOf identifies the bottleneck of a repository: its host, or the namespace's proxy for it.
func placeOf(o *yubav1.ModuleSource) string {
	host := o.Spec.URL
	if u, err := url.Parse(o.Spec.URL); err == nil {
		host = cmp.Or(u.Host, u.Scheme)
	}
	if ref := o.Spec.ProxySecretRef; ref != nil {
		return fmt.Sprintf("%s by %s/%s", host, o.Namespace, ref.Name)
	}
	return host
}

func isForbidden(err error) bool {
	var forbidden *forbiddenError
	return errors.As(err, &forbidden)
}

// names returns the versions that a look published.
func (out *outcome) names() (names []string) {
	for _, one := range out.published {
		names = append(names, one.Rule.Module+"@"+one.Version)
	}
	return slices.Clip(names)
}
