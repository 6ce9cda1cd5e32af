// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/git"
	"github.com/yuba-dev/yuba/internal/gitops/sources/tags/decide"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

const (
	// ahead is the number of tags that are fetched while one is published. They share requests.
	ahead = 4
	// giveUp is the number of consecutive failed fetches after which a look ends: the repository is
	// unavailable.
	giveUp = 3
)

// refusedError means that the content of a tag cannot be published.
type refusedError struct{ reason, message string }

func (e *refusedError) Error() string { return e.message }

// tree is the checked out tree of a tag; dir is that of its module.
type tree struct {
	dir    string
	remove func()
	err    error
}

// publishAll publishes tags in order, and records the results in facts and out. It fetches the next
// ones meanwhile. Its error is the last failure that is not the fault of a tag.
func (p *Publisher) publishAll(ctx context.Context, o *yubav1.ModuleSource, up git.Upstream, todo []decide.Publish, facts *decide.Facts, out *outcome) (failed error) {
	if len(todo) == 0 {
		return nil
	}
	verify, err := p.verify(ctx, o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	trees := make([]chan tree, len(todo))
	slots := make(chan struct{}, ahead)
	var fetching sync.WaitGroup
	for i := range todo {
		trees[i] = make(chan tree, 1)
	}
	fetching.Go(func() {
		for i, one := range todo {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			fetching.Go(func() { trees[i] <- p.fetch(ctx, o, up, verify, one) })
		}
	})
	defer func() {
		cancel()
		fetching.Wait()
		for _, c := range trees {
			select {
			case t := <-c:
				t.remove()
			default:
			}
		}
	}()
	for i, failures := 0, 0; i < len(todo) && failures < giveUp; i++ {
		var t tree
		select {
		case t = <-trees[i]:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := t.err
		if err == nil {
			err = p.publish(ctx, o, todo[i], t.dir, facts, out)
		}
		t.remove()
		<-slots
		var refused *refusedError
		var registry *registryError
		switch {
		case errors.As(err, &refused):
			r := todo[i].Refuse(refused.reason, refused.message)
			facts.Verdicts[r.Key()] = todo[i].Refused(r)
			failures = 0
		// The next tag would fail as well.
		case errors.As(err, &registry):
			return err
		case err != nil:
			failed = err
			failures++
		default:
			failures = 0
		}
	}
	return failed
}

// fetch checks out the module's directory of a tag. The caller removes the tree, also after an error.
func (p *Publisher) fetch(ctx context.Context, o *yubav1.ModuleSource, up git.Upstream, verify *git.Verify, one decide.Publish) tree {
	work, err := os.MkdirTemp(p.Dir, workPrefix)
	if err != nil {
		return tree{remove: func() {}, err: &registryError{"create a directory for the tree of a tag", err}}
	}
	t := tree{dir: work, remove: func() { _ = os.RemoveAll(work) }} // the next start removes what is left
	ctx, cancel := context.WithTimeout(ctx, o.GetTimeout())
	defer cancel()
	want := git.Want{Ref: git.Ref{Tag: one.Tag.Name}, Verify: verify, MaxAge: sameBatch}
	path := decide.CleanPath(one.Rule.Path)
	if path != "" {
		want.Sparse = []string{path}
	}
	found, err := p.Git.Look(ctx, up, want)
	if err == nil && found.Commit != one.Tag.Commit {
		err = upstream.Failed(git.ReasonOperation, nil, "fetch the tag %q of %s: it moved from commit %s to %s meanwhile", one.Tag.Name, repositoryOf(o), one.Tag.Commit, found.Commit)
	}
	if err == nil {
		err = found.Fetch(ctx, work)
	}
	if err != nil {
		t.err = faultOf(attempted(ctx, fmt.Sprintf("fetch the tag %q of %s", one.Tag.Name, repositoryOf(o)), err), one, path)
		return t
	}
	if len(found.LeftOut) > 0 {
		t.err = linksOut(found.LeftOut)
		return t
	}
	t.dir = filepath.Join(work, filepath.FromSlash(path))
	if info, err := os.Lstat(t.dir); err != nil || !info.IsDir() {
		t.err = &refusedError{yubav1.ReasonInvalidModule, fmt.Sprintf("%q is not a directory in the tag's commit", path)}
	}
	return t
}

// faultOf makes a refusal of a failed fetch that is the tag's fault.
func faultOf(err error, one decide.Publish, path string) error {
	var problem *upstream.Problem
	var failed *archive.FetchError
	if !errors.As(err, &failed) {
		return err
	}
	switch failed.Reason {
	case git.ReasonNotSigned, git.ReasonTagSignature, git.ReasonCommitSignature:
		return &refusedError{yubav1.ReasonNotVerified, failed.Message}
	}
	if errors.As(err, &problem) && problem.Content {
		message := problem.Text
		if strings.Contains(message, "sparseCheckout") {
			message = fmt.Sprintf("the directory %q is not in the tag's commit %s", path, one.Tag.Commit)
		}
		return &refusedError{yubav1.ReasonFetchRefused, message}
	}
	return err
}

func linksOut(links []string) error {
	return &refusedError{yubav1.ReasonFetchRefused, "links lead out of the module's directory: " + strings.Join(links, ", ") +
		". Users of the module would not have these files: replace the links by files"}
}

// publish packs the directory of a module and publishes it.
func (p *Publisher) publish(ctx context.Context, o *yubav1.ModuleSource, one decide.Publish, dir string, facts *decide.Facts, out *outcome) error {
	version, err := layout.ParseModuleVersion(one.Rule.Module + "@" + one.Version)
	if err != nil {
		return &refusedError{yubav1.ReasonInvalidVersion, err.Error()}
	}
	r, w := io.Pipe()
	var packed error
	var stats archive.Stats
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, stats, packed = archive.Pack(ctx, dir, w, archive.PackOptions{MaxPacked: p.Limits.MaxPacked, MaxUnpacked: p.Limits.MaxUnpacked,
			MaxEntries: int(p.Limits.MaxEntries), Upstream: &archive.UpstreamRules{}})
		if packed == nil && len(stats.LeftOut) > 0 {
			packed = linksOut(stats.LeftOut)
		}
		_ = w.CloseWithError(packed) // it never fails
	}()
	release, changes, err := p.Registry.Publish(ctx, version, r, catalog.PublishOptions{By: user(o), From: &catalog.Origin{
		Repository: repositoryOf(o), Tag: one.Tag.Name, Commit: one.Tag.Commit, Path: decide.CleanPath(one.Rule.Path)}})
	_ = r.Close() // it never fails, and ends the packing if the registry did not read everything
	<-done
	if packed != nil && !errors.Is(packed, io.ErrClosedPipe) {
		return packingError(packed)
	}
	if err != nil {
		return publishingError(err, one)
	}
	if changes.Existed {
		verdict := one.Refuse("", "")
		facts.Verdicts[verdict.Key()] = one.Same()
		return nil
	}
	// The registry's list may be a moment older than its answer.
	facts.Published[one.Rule.Module] = append(facts.Published[one.Rule.Module],
		decide.Published{Version: one.Version, Digest: release.Digest, Tag: one.Tag.Name, Commit: one.Tag.Commit})
	out.published = append(out.published, one)
	return nil
}

// packingError says whether a tree that cannot be packed is the tag's fault.
func packingError(err error) error {
	var refused *refusedError
	var limit *archive.LimitError
	var entry *archive.EntryError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &limit):
		return &refusedError{yubav1.ReasonFetchRefused, "it is too big: " + limit.Error()}
	case errors.As(err, &entry):
		return &refusedError{yubav1.ReasonFetchRefused, entry.Error()}
	}
	return &registryError{"pack the tree of a tag", err}
}

// publishingError says whether the registry's refusal is the tag's fault.
func publishingError(err error, one decide.Publish) error {
	var invalid *inspect.Error
	var conflict *catalog.ConflictError
	var incompatible *catalog.IncompatibleError
	switch {
	case errors.As(err, &conflict) && one.Was != nil && one.Was.Tag == one.Tag.Name:
		return &refusedError{yubav1.ReasonTagMoved, fmt.Sprintf(
			"the tag led to commit %s when it was published, and leads to %s with other content now. Published versions never change: move the tag back, and tag the new commit with a new version",
			one.Was.Commit, one.Tag.Commit)}
	case errors.As(err, &conflict):
		return &refusedError{yubav1.ReasonVersionConflict, fmt.Sprintf(
			"somebody else published %s@%s with other content (%s). Published versions never change: tag the commit with a new version", one.Rule.Module, one.Version, conflict.Have)}
	case errors.As(err, &incompatible):
		return &refusedError{yubav1.ReasonIncompatible, incompatible.Error()}
	case errors.As(err, &invalid):
		return &refusedError{yubav1.ReasonInvalidModule, invalid.Error()}
	}
	return &registryError{"write to the registry", err}
}
