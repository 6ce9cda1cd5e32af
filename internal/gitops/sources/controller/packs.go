// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/kit/limiter"
)

// Store is the part of the blob store that sources need.
type Store interface {
	PutArtifact(ctx context.Context, r io.Reader, limit int64) (digest string, size int64, err error)
	OpenArtifact(ctx context.Context, digest string) (io.ReadCloser, error)
	HasArtifact(ctx context.Context, digest string) (bool, error)
	VerifyArtifact(ctx context.Context, digest string) error
}

// packed is a stored tree.
type packed struct {
	digest  string
	size    int64
	leftOut []string
}

// packs creates archives of trees and remembers them.
type packs struct {
	store  Store
	limits archive.Limits
	// packing limits concurrent packing, which needs CPU and disk. making creates one tree at a time
	// for each key.
	packing, making *limiter.Limiter

	mu       sync.Mutex
	known    map[string]packed
	order    []string
	verified map[string]time.Time
}

const (
	// maxPacking is the number of trees that are packed concurrently.
	maxPacking = 2
	// maxKnown limits the remembered archives, a few hundred bytes each.
	maxKnown = 4096
	// verifyEvery is how often stored archives are read completely. In between their existence is
	// enough: users of an archive verify it anyway.
	verifyEvery = time.Hour
)

func newPacks(store Store, limits archive.Limits) *packs {
	return &packs{store: store, limits: limits, packing: limiter.New(maxPacking), making: limiter.New(1), known: map[string]packed{}, verified: map[string]time.Time{}}
}

// get returns the archive of the tree with a key; make creates it if needed, once for concurrent
// callers. An empty key is never remembered.
func (p *packs) get(ctx context.Context, key string, make func() (packed, error)) (packed, error) {
	if key == "" {
		return make()
	}
	leave, err := p.making.Take(ctx, key)
	if err != nil {
		return packed{}, err
	}
	defer leave()
	p.mu.Lock()
	have, ok := p.known[key]
	p.mu.Unlock()
	if ok {
		if ok, err = p.present(ctx, have.digest, false); err != nil || ok {
			return have, err
		}
	}
	made, err := make()
	if err == nil {
		p.remember(key, made)
	}
	return made, err
}

func (p *packs) remember(key string, made packed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.known[key]; !ok {
		p.order = append(p.order, key)
	}
	p.known[key] = made
	for len(p.order) > maxKnown {
		delete(p.known, p.order[0])
		p.order = p.order[1:]
	}
}

// pack stores the tree in dir.
func (p *packs) pack(ctx context.Context, dir string, rules *archive.UpstreamRules) (packed, error) {
	leave, err := p.packing.Take(ctx, "")
	if err != nil {
		return packed{}, err
	}
	defer leave()
	r, w := io.Pipe()
	defer r.Close() //nolint:errcheck // it unblocks the packing, should storing fail
	statistics := make(chan archive.Stats, 1)
	go func() {
		_, stats, err := archive.Pack(ctx, dir, w, archive.PackOptions{MaxPacked: p.limits.MaxPacked, MaxUnpacked: p.limits.MaxUnpacked,
			MaxEntries: int(p.limits.MaxEntries), Upstream: rules})
		statistics <- stats
		w.CloseWithError(err) //nolint:errcheck // never fails, see its documentation
	}()
	made, err := p.put(ctx, r)
	if err != nil {
		return packed{}, err
	}
	made.leftOut = (<-statistics).LeftOut
	return made, nil
}

// put stores an archive.
func (p *packs) put(ctx context.Context, r io.Reader) (packed, error) {
	digest, size, err := p.store.PutArtifact(ctx, r, p.limits.MaxPacked)
	if err != nil {
		return packed{}, err
	}
	p.noteVerified(digest)
	return packed{digest: digest, size: size}, nil
}

func (p *packs) noteVerified(digest string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.verified[digest] = now
	for d, at := range p.verified {
		if now.Sub(at) > verifyEvery {
			delete(p.verified, d)
		}
	}
}

// present reports whether an archive is in the store and matches its digest. It verifies the digest
// at intervals, and always if thorough.
func (p *packs) present(ctx context.Context, digest string, thorough bool) (bool, error) {
	p.mu.Lock()
	at, known := p.verified[digest]
	p.mu.Unlock()
	if known && !thorough && time.Since(at) < verifyEvery {
		return p.store.HasArtifact(ctx, digest)
	}
	err := p.store.VerifyArtifact(ctx, digest)
	var wrong *blob.DigestError
	var damaged *blob.SealError
	switch {
	case err == nil:
		p.noteVerified(digest)
		return true, nil
	case errors.Is(err, blob.ErrNotFound), errors.As(err, &wrong), errors.As(err, &damaged):
		p.mu.Lock()
		delete(p.verified, digest)
		p.mu.Unlock()
		return false, nil
	}
	return false, err
}
