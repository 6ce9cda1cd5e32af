// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gitops/sources/decide"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// outcome is the result of a look and of the fetch after it.
type outcome struct {
	// generation and requested are those of the object when the look began.
	generation int64
	requested  string
	ended      time.Time
	// found is nil if the look failed. includes are the artifacts to include.
	found    *Found
	includes []*meta.Artifact
	// made is the new archive; nil if the artifact is current. why is the reason for a new archive.
	made *packed
	why  string
	// gone is true if the archive of the current artifact is missing or damaged.
	gone bool
	// err is a *archive.FetchError, an *includeError or a *storeError.
	err error
}

// storeError means that storing the content failed.
type storeError struct {
	message string
	err     error
}

func (e *storeError) Error() string { return e.message }
func (e *storeError) Unwrap() error { return e.err }

// look queries the upstream of an object and fetches new content. Do not modify the object during
// the call.
func (s *Sources) look(ctx context.Context, k *kind, o Object, fresh bool) *outcome {
	v := k.view(o)
	out := &outcome{generation: o.GetGeneration(), requested: requestOf(o)}
	out.err = s.lookInto(ctx, k, o, v, fresh, out)
	out.ended = s.now()
	return out
}

func (s *Sources) lookInto(ctx context.Context, k *kind, o Object, v view, fresh bool, out *outcome) error {
	leave, err := s.hosts.Take(ctx, v.place(o.GetNamespace()))
	if err != nil {
		return err
	}
	defer leave()
	if err = s.lookAndFetch(ctx, k, o, v, fresh, out); err != nil && *v.artifact != nil {
		// If the stored artifact exists, it is still served. An error of this check is ignored,
		// because the look has already failed.
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
		// Usually its existence is enough; a requested look also verifies it.
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
	out.found.Metadata = nameAuthors(ctx, out, k, o, *v.artifact)
	return nil
}

// nameAuthors adds who made the revision, and the ones before it, to its metadata. Nobody knows who made
// what is included, or who changed the object.
func nameAuthors(ctx context.Context, out *outcome, k *kind, o Object, last *meta.Artifact) map[string]string {
	names := map[string]string{}
	if out.found.Authors != nil {
		if authors := out.found.Authors(ctx); len(authors) > 0 {
			names[infrav1.ArtifactAuthors] = strings.Join(authors, ",")
		}
	}
	if out.found.Parent != nil && last != nil && len(out.includes) == 0 && k.observed(o) {
		parent := out.found.Parent(ctx)
		switch earlier := last.Metadata[infrav1.ArtifactEarlier]; {
		case last.Revision == out.found.Revision && earlier != "":
			names[infrav1.ArtifactEarlier] = earlier // the archive was lost
		case parent != "" && strings.HasSuffix(last.Revision, ":"+parent):
			names[infrav1.ArtifactEarlier] = infrav1.EarlierAuthors(last)
		}
	}
	if len(names) > 0 {
		maps.Copy(names, out.found.Metadata)
		return names
	}
	return out.found.Metadata
}

// askUpstream queries the upstream, limited by the object's timeout.
func askUpstream(ctx context.Context, k *kind, o Object, v view, fresh bool) (*Found, error) {
	ctx, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	found, err := k.look(ctx, o, fresh)
	if err != nil {
		return nil, k.explain(ctx, v, "check", err)
	}
	return found, nil
}

// explain makes a failure for the status.
func (k *kind) explain(ctx context.Context, v view, action string, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = errors.Join(ctx.Err(), err)
	}
	return upstream.Attempted(k.failed, action+" "+v.url, err, error.Error)
}

// packKey identifies the tree and everything that its archive depends on, including the upstream's
// URL: another server's commits prove nothing about this one's.
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

// fetch fetches the tree, or an unchanged archive, and stores it.
func (s *Sources) fetch(ctx context.Context, k *kind, v view, out *outcome) (packed, error) {
	if out.found.Archive != nil {
		return s.fetchArchive(ctx, k, v, out.found)
	}
	temp, err := os.MkdirTemp(s.Dir, workPrefix)
	tree := filepath.Join(temp, "tree")
	if err == nil {
		defer os.RemoveAll(temp) //nolint:errcheck // the next start removes what is left
		err = os.Mkdir(tree, 0o700)
	}
	if err != nil {
		return packed{}, &storeError{message: fmt.Sprintf("create a directory for the tree of '%s': %s", out.found.Revision, err), err: err}
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
	case errors.As(err, &known), err != nil && ctx.Err() != nil:
		return packed{}, k.explain(ctx, v, "fetch '"+found.Revision+"' from", err)
	case err != nil:
		return packed{}, tooLarge(found.Revision, err)
	}
	return made, nil
}

// tooLarge explains how to handle a tree that is too large, or why storing failed.
func tooLarge(revision string, err error) error {
	var limit *archive.LimitError
	var size *blob.TooLargeError
	var entry *archive.EntryError
	why, advice := err, ""
	switch {
	// The wrapping error names directories of the server.
	case errors.As(err, &limit):
		why, advice = limit, tooLargeAdvice
	case errors.As(err, &size):
		why, advice = size, tooLargeAdvice
	case errors.As(err, &entry):
		why, advice = entry, ". Exclude it with spec.ignore or a .sourceignore file"
	}
	return &storeError{message: fmt.Sprintf("store the artifact of '%s': %s%s", revision, why, advice), err: err}
}

const tooLargeAdvice = ". Exclude files with spec.ignore or a .sourceignore file, or start the server with a larger --max-archive"

// workPrefix begins the names of temporary directories for trees.
const workPrefix = "tree-"

// requestOf returns the request for a reconciliation.
func requestOf(o Object) string {
	value, _ := meta.ReconcileAnnotationValue(o.GetAnnotations())
	return value
}

// isVerification reports whether a failure is about signatures: the content is available but not
// trusted.
func isVerification(reason string) bool {
	switch reason {
	case sourcev1.VerificationError, "InvalidTagSignature", "InvalidCommitSignature", "InvalidGitObject", "InvalidVerificationMode":
		return true
	}
	return false
}
