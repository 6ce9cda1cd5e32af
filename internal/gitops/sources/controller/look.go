// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gitops/sources/decide"
)

// outcome is what a look, and what was fetched after it, came to.
type outcome struct {
	// generation and requested are the object's when the look began.
	generation int64
	requested  string
	ended      time.Time
	// found is nil when the look failed, includes what is to be copied into the tree.
	found    *Found
	includes []*meta.Artifact
	// made is the new archive; nil when the artifact is what it should be. why says why it was made, or should have been.
	made *packed
	why  string
	// gone is true when the archive of the status's artifact is missing or damaged.
	gone bool
	// err is a *archive.FetchError, an *includeError or a *storeError.
	err error
}

// storeError says that what was fetched could not be stored.
type storeError struct {
	message string
	err     error
}

func (e *storeError) Error() string { return e.message }
func (e *storeError) Unwrap() error { return e.err }

// look asks the upstream of an object, which nobody else changes meanwhile, and fetches what is new.
func (s *Sources) look(ctx context.Context, k *kind, o Object, fresh bool) *outcome {
	v := k.view(o)
	out := &outcome{generation: o.GetGeneration(), requested: requestOf(o)}
	out.err = s.lookInto(ctx, k, o, v, fresh, out)
	out.ended = s.now()
	return out
}

func (s *Sources) lookInto(ctx context.Context, k *kind, o Object, v view, fresh bool, out *outcome) error {
	leave, err := s.hosts.enter(ctx, v.place(o.GetNamespace()))
	if err != nil {
		return err
	}
	defer leave()
	if err = s.lookAndFetch(ctx, k, o, v, fresh, out); err != nil && *v.artifact != nil {
		// What was stored before serves on, if it is there. That this cannot be found out is no news beside the failure.
		if present, unknown := s.packs.present(ctx, (*v.artifact).Digest, false); unknown == nil {
			out.gone = !present
		}
	}
	return err
}

func (s *Sources) lookAndFetch(ctx context.Context, k *kind, o Object, v view, fresh bool, out *outcome) (err error) {
	if out.includes, err = findIncludes(ctx, s.Cache, o, v.include); err != nil {
		return err
	}
	if out.found, err = askUpstream(ctx, k, o, v, fresh); err != nil {
		return err
	}
	content := decide.Content{Upstream: out.found.Revision, ConfigurationChanged: !k.observed(o), Present: true}
	if a := *v.artifact; a != nil {
		content.Stored = a.Revision
	}
	if v.includes != nil {
		content.IncludesChanged = differ(out.includes, *v.includes)
	}
	if out.why = decide.Fetch(content); out.why == "" {
		// Only what is kept must be there; whoever asks for a look may well ask because it is damaged.
		if content.Present, err = s.packs.present(ctx, (*v.artifact).Digest, fresh); err != nil {
			return &storeError{message: fmt.Sprintf("read the stored artifact of '%s': %s", content.Stored, err), err: err}
		}
		out.gone, out.why = !content.Present, decide.Fetch(content)
	}
	if out.why == "" {
		return nil
	}
	made, err := s.packs.get(ctx, packKey(k, v, out), func() (packed, error) { return s.fetch(ctx, k, v, out) })
	if err != nil {
		return err
	}
	out.made = &made
	return nil
}

// askUpstream looks, no longer than the object allows.
func askUpstream(ctx context.Context, k *kind, o Object, v view, fresh bool) (*Found, error) {
	ctx, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	found, err := k.look(ctx, o, fresh)
	if err != nil {
		return nil, k.explain(ctx, v, "look at", err)
	}
	return found, nil
}

// explain makes every failure one that a status can tell.
func (k *kind) explain(ctx context.Context, v view, action string, err error) error {
	var known *archive.FetchError
	if errors.As(err, &known) {
		return known
	}
	message := fmt.Sprintf("%s %s: %s", action, v.url, err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		message = fmt.Sprintf("%s %s: it took longer than %s. Set spec.timeout to give it more time", action, v.url, v.timeout)
	}
	return &archive.FetchError{Reason: k.failed, Message: message, Err: err}
}

// packKey names the tree with all that its archive depends on. The upstream's URL is part of it: what another server says
// about its commits proves nothing about this one's.
func packKey(k *kind, v view, out *outcome) string {
	if out.found.ContentKey == "" {
		return ""
	}
	sum := sha256.New()
	add := func(text string) { fmt.Fprintf(sum, "%d:%s", len(text), text) }
	for _, text := range []string{k.name, v.url, out.found.ContentKey, k.rules(v).Ignore} {
		add(text)
	}
	for i, in := range v.include {
		for _, text := range []string{out.includes[i].Digest, in.GetFromPath(), in.GetToPath()} {
			add(text)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// fetch gets the tree, or the archive as it is, and stores it.
func (s *Sources) fetch(ctx context.Context, k *kind, v view, out *outcome) (packed, error) {
	if out.found.Archive != nil {
		return s.fetchArchive(ctx, k, v, out.found)
	}
	temp, err := os.MkdirTemp(s.Dir, workPrefix)
	if err != nil {
		return packed{}, &storeError{message: fmt.Sprintf("make a directory for the tree of '%s': %s", out.found.Revision, err), err: err}
	}
	defer os.RemoveAll(temp) //nolint:errcheck // the next start clears away what is left
	tree := filepath.Join(temp, "tree")
	if err := os.Mkdir(tree, 0o700); err != nil {
		return packed{}, &storeError{message: fmt.Sprintf("make a directory for the tree of '%s': %s", out.found.Revision, err), err: err}
	}
	if err := fetchTree(ctx, k, v, out.found, tree); err != nil {
		return packed{}, err
	}
	if err := s.packs.copyIncludes(ctx, tree, temp, v.include, out.includes); err != nil {
		return packed{}, &storeError{message: err.Error(), err: err}
	}
	made, err := s.packs.pack(ctx, tree, k.rules(v))
	if err != nil {
		return packed{}, tooLarge(out.found.Revision, err)
	}
	if out.found.LeftOut != nil {
		made.leftOut = append(out.found.LeftOut(), made.leftOut...)
	}
	return made, nil
}

func fetchTree(ctx context.Context, k *kind, v view, found *Found, tree string) error {
	ctx, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	if err := found.Fetch(ctx, tree); err != nil {
		return k.explain(ctx, v, "fetch '"+found.Revision+"' from", err)
	}
	return nil
}

func (s *Sources) fetchArchive(ctx context.Context, k *kind, v view, found *Found) (packed, error) {
	ctx, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	content, err := found.Archive(ctx)
	if err != nil {
		return packed{}, k.explain(ctx, v, "fetch '"+found.Revision+"' from", err)
	}
	defer content.Close() //nolint:errcheck // read only
	made, err := s.packs.put(ctx, content)
	var known *archive.FetchError
	switch {
	case errors.As(err, &known):
		return packed{}, known
	case err != nil && ctx.Err() != nil:
		return packed{}, k.explain(ctx, v, "fetch '"+found.Revision+"' from", err)
	case err != nil:
		return packed{}, tooLarge(found.Revision, err)
	}
	return made, nil
}

// tooLarge says what to do about a tree that is too large, and what happened to any other.
func tooLarge(revision string, err error) error {
	var limit *archive.LimitError
	var size *blob.TooLargeError
	var entry *archive.EntryError
	why, advice := err, ""
	switch {
	// What is around these names directories of the server.
	case errors.As(err, &limit):
		why, advice = limit, tooLargeAdvice
	case errors.As(err, &size):
		why, advice = size, tooLargeAdvice
	case errors.As(err, &entry):
		why, advice = entry, ". Leave it out with spec.ignore or a .sourceignore file"
	}
	return &storeError{message: fmt.Sprintf("store the artifact of '%s': %s%s", revision, why, advice), err: err}
}

const tooLargeAdvice = ". Leave files out with spec.ignore or a .sourceignore file, or start the server with a larger --max-archive"

// workPrefix begins the names of directories for trees on their way into the store.
const workPrefix = "tree-"

// requestOf is what somebody asked the object to be looked at for.
func requestOf(o Object) string {
	value, _ := meta.ReconcileAnnotationValue(o.GetAnnotations())
	return value
}

// isVerification tells whether a failure is one of signatures: what is upstream could be had and is not trusted.
func isVerification(reason string) bool {
	switch reason {
	case sourcev1.VerificationError, "InvalidTagSignature", "InvalidCommitSignature", "InvalidGitObject", "InvalidVerificationMode":
		return true
	}
	return false
}
