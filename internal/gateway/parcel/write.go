// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package parcel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/kit/bundle"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Write writes the parcel of a stack, or a part of it. A part that another one follows names its last
// unit in its manifest.
func (s *Store) Write(ctx context.Context, w io.Writer, of Subject, part Part) error {
	now := time.Now().UTC()
	size := &counter{Writer: w}
	out := &writer{Writer: bundle.NewWriter(ctx, size, now), ctx: ctx, part: part, size: size, began: now}
	header := Header{Format: Format, Version: s.Version, Created: now, Namespace: of.Stack.Namespace, Name: of.Stack.Name, UID: of.Stack.UID, Audit: of.Audit}
	if err := out.AddJSON(headerName, header); err != nil {
		return err
	}
	for _, section := range []func(*writer, Subject) error{s.writeLockFile, s.writeStates, s.writeArtifacts, s.writeRuns} {
		if err := section(out, of); err != nil {
			return fmt.Errorf("export %s: %w", of.Stack, err)
		}
	}
	return out.Close()
}

func (s *Store) writeLockFile(out *writer, of Subject) error {
	if !out.begins(lockFileName) {
		return nil
	}
	return out.addBlob(lockFileName, func() (io.ReadCloser, error) { return s.Blobs.Open(out.ctx, of.Stack.LockFileKey()) })
}

func (s *Store) writeStates(out *writer, of Subject) error {
	if of.State == nil {
		return nil
	}
	ids, err := s.States.VersionIDs(out.ctx, *of.State)
	if err != nil {
		return err
	}
	slices.Sort(ids) // as strings, which is the order of units
	for _, id := range ids {
		if !out.begins(statesDir + "/" + id) {
			continue
		}
		err := out.addBlob(statesDir+"/"+id, func() (io.ReadCloser, error) { return s.States.OpenPacked(out.ctx, *of.State, id) })
		if err != nil {
			return err
		}
	}
	return nil
}

// writeArtifacts writes the archives without which a stack whose source is gone cannot be destroyed,
// or its pending plan not be applied.
func (s *Store) writeArtifacts(out *writer, of Subject) error {
	digests := slices.Clone(of.Artifacts)
	for _, id := range of.Needed {
		rec, err := s.record(out.ctx, of.Stack, id)
		if err != nil {
			return err
		}
		if rec != nil {
			digests = append(digests, rec.Spec.Artifact.Digest)
		}
	}
	slices.Sort(digests)
	for _, digest := range slices.Compact(digests) {
		if _, err := blob.ArtifactKey(digest); err != nil {
			continue
		}
		name := artifactsDir + "/" + strings.TrimPrefix(digest, digestPrefix)
		if !out.begins(name) {
			continue
		}
		if err := out.addBlob(name, func() (io.ReadCloser, error) { return s.Blobs.OpenArtifact(out.ctx, digest) }); err != nil {
			return err
		}
	}
	return nil
}

const digestPrefix = "sha256:"

// record reads a record; nil if it is missing or damaged.
func (s *Store) record(ctx context.Context, stack run.Stack, id string) (*run.Record, error) {
	if id == "" {
		return nil, nil
	}
	data, err := s.Blobs.Get(ctx, stack.Key(id, run.BlobRecord), maxRecord)
	if unreadable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var rec run.Record
	if err := json.Unmarshal(data, &rec); err != nil {
		return nil, nil //nolint:nilerr // a damaged record is never used again
	}
	return &rec, nil
}

// writeRuns writes the runs that have ended, oldest first.
func (s *Store) writeRuns(out *writer, of Subject) error {
	var ids []string
	for info, err := range s.Blobs.List(out.ctx, of.Stack.Prefix()) {
		if err != nil {
			return err
		}
		id, part, _ := strings.Cut(strings.TrimPrefix(info.Key, of.Stack.Prefix()), "/")
		if part == run.BlobRecord && isRun(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		if !out.begins(runsDir + "/" + id) {
			continue
		}
		rec, err := s.record(out.ctx, of.Stack, id)
		if err != nil {
			return err
		}
		if rec == nil {
			out.Manifest.Damaged = append(out.Manifest.Damaged, runsDir+"/"+id)
			continue
		}
		if rec.Result == nil {
			continue
		}
		for _, part := range parts {
			err := out.addBlob(runsDir+"/"+id+"/"+part, func() (io.ReadCloser, error) { return s.Blobs.Open(out.ctx, of.Stack.Key(id, part)) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func isRun(id string) bool { return id == run.QuietSlot || runID.MatchString(id) }

// unreadable reports whether a blob is missing, or can never be read.
func unreadable(err error) bool {
	var sealed *blob.SealError
	var digest *blob.DigestError
	var corrupt *state.CorruptError
	return errors.Is(err, blob.ErrNotFound) || errors.Is(err, state.ErrNoVersion) ||
		errors.As(err, &sealed) || errors.As(err, &digest) || errors.As(err, &corrupt)
}

// writer adds blobs to a bundle.
type writer struct {
	*bundle.Writer
	ctx context.Context
	// part selects what is written, last is the last unit that was.
	part  Part
	last  string
	size  *counter
	began time.Time
}

// addBlob adds a blob, unless it is missing. A damaged one is listed instead.
func (w *writer) addBlob(name string, open func() (io.ReadCloser, error)) error {
	err := w.tryBlob(name, open)
	switch {
	case err == nil || !unreadable(err):
		return err
	case !errors.Is(err, blob.ErrNotFound) && !errors.Is(err, state.ErrNoVersion):
		w.Manifest.Damaged = append(w.Manifest.Damaged, name)
	}
	return nil
}

// tryBlob adds a blob. Damage is noticed late, so a large blob is read to its end before any of it is
// written.
func (w *writer) tryBlob(name string, open func() (io.ReadCloser, error)) error {
	content, err := open()
	if err != nil {
		return err
	}
	first, err := io.ReadAll(io.LimitReader(content, bundle.ChunkSize+1))
	if err == nil && len(first) > bundle.ChunkSize {
		_, err = io.Copy(io.Discard, content)
	}
	if err = errors.Join(err, content.Close()); err != nil {
		return err
	}
	if len(first) <= bundle.ChunkSize {
		return w.Add(name, bytes.NewReader(first))
	}
	if content, err = open(); err != nil {
		return err
	}
	return errors.Join(w.Add(name, content), content.Close())
}
