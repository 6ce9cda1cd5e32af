// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/download"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// Options configure a mirror. The zero value mirrors every public provider and evicts nothing.
type Options struct {
	// Allow and Deny are patterns HOST/NAMESPACE/NAME, in which "*" is any text without slashes.
	// Without Allow everything is allowed that Deny does not name. A host that Allow names exactly
	// may have an address on this machine or in a private network, at its port only.
	Allow, Deny []string
	// TTL is how long an index counts as current; 0 means [DefaultTTL].
	TTL time.Duration
	// Limit is the size of all archives above which those unused for longest are evicted; 0 means
	// none is.
	Limit int64
	// Offline never asks an origin.
	Offline bool
	// RefuseExpired refuses releases that are signed by an expired key. OpenTofu accepts them unless
	// OPENTOFU_ENFORCE_GPG_EXPIRATION is set.
	RefuseExpired bool
	// Spool is a directory for downloads that nobody else uses. It is created, and must be given.
	Spool string
	// Roots are trusted for origins in addition to the system's.
	Roots *x509.CertPool
	// Token returns the credentials for an origin; nil means none.
	Token func(host string) string
	// Now is the clock; nil means the system's.
	Now func() time.Time
	Log *slog.Logger
}

// DefaultTTL is how long an index counts as current.
const DefaultTTL = 5 * time.Minute

// store is the part of a bucket that the mirror needs, with the promises of [blob.Plain].
type store interface {
	Put(ctx context.Context, key string, r io.Reader) error
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
	Stat(ctx context.Context, key string) (blob.Info, error)
	Delete(ctx context.Context, key string) error
	List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error]
}

// Mirror is a pull-through mirror of providers. It is safe for concurrent use.
type Mirror struct {
	bucket  store
	options Options
	rules   rules
	origins *origins
	staging download.Staging
	flights download.Flights
	log     *slog.Logger
	now     func() time.Time

	indexes  memory[layout.Provider, *indexed]
	releases memory[layout.ProviderVersion, *record]
	uses     uses
	checked  checked
	// unsigned is the host whose releases may lack a key: hostUnsigned, except in tests.
	unsigned string

	// downloads limits how many archives are downloaded at once: each needs room for the whole archive.
	downloads chan struct{}

	// heard are the notes of removals that Run has read.
	heard map[string]bool

	// changes excludes two changes of the same record in this process.
	changes sync.Map
	// size gets a value when an archive was stored.
	size chan struct{}
}

// maxDownloads is the number of archives that are downloaded at once.
const maxDownloads = 8

// Open returns a mirror that keeps providers in a bucket.
func Open(bucket *blob.Plain, o Options) (*Mirror, error) { return newMirror(bucket, o) }

func newMirror(bucket store, o Options) (*Mirror, error) {
	allowed, err := parseRules(o.Allow, o.Deny)
	if err != nil {
		return nil, fmt.Errorf("open the mirror of providers: %w", err)
	}
	m := &Mirror{
		bucket:  bucket,
		options: o,
		rules:   allowed,
		origins: newOrigins(o, allowed),
		staging: download.Staging(o.Spool),
		size:    make(chan struct{}, 1),

		downloads: make(chan struct{}, maxDownloads),
		unsigned:  hostUnsigned,
		log:       cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		now:       o.Now,
	}
	if m.now == nil {
		m.now = time.Now
	}
	m.options.TTL = cmp.Or(o.TTL, DefaultTTL)
	if o.Spool == "" {
		return nil, errors.New("open the mirror of providers: no directory for downloads is given")
	}
	if err := os.MkdirAll(o.Spool, 0o700); err != nil {
		return nil, fmt.Errorf("open the mirror of providers: %w", err)
	}
	if err := m.staging.Clean(); err != nil {
		return nil, fmt.Errorf("open the mirror of providers: remove abandoned downloads: %w", err)
	}
	return m, nil
}
