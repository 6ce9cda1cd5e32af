// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"slices"
	"sync"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// Pool keeps the data sources of registries open between reads.
type Pool struct {
	opts Options

	mu   sync.Mutex
	open map[string]kept
}

// kept is a source with its settings.
type kept struct {
	source Source
	with   [sha256.Size]byte
}

// NewPool returns a pool without sources.
func NewPool(opts Options) *Pool { return &Pool{opts: opts, open: map[string]kept{}} }

// Get returns the source of a registry. If its settings or Secrets have changed, it closes the
// previous one, opens another, and returns true. On an error the previous one stays. Intervals and
// conditions are not settings of a source.
func (p *Pool) Get(ctx context.Context, id string, spec tenantv1.DataSource, secrets Secrets) (Source, bool, error) {
	with, err := digest(ctx, spec, secrets)
	if err != nil {
		return nil, false, err
	}
	p.mu.Lock()
	now, has := p.open[id]
	p.mu.Unlock()
	if has && now.with == with {
		return now.source, false, nil
	}
	source, err := Open(ctx, spec, secrets, p.opts)
	if err != nil {
		return nil, false, err
	}
	p.mu.Lock()
	before, had := p.open[id]
	p.open[id] = kept{source, with}
	p.mu.Unlock()
	if had {
		before.source.Close() //nolint:errcheck // it was only read
	}
	return source, true, nil
}

// Drop closes the source of a deleted registry.
func (p *Pool) Drop(id string) {
	p.mu.Lock()
	before, had := p.open[id]
	delete(p.open, id)
	p.mu.Unlock()
	if had {
		before.source.Close() //nolint:errcheck // it was only read
	}
}

// Close closes all sources. The pool can be used again.
func (p *Pool) Close() {
	p.mu.Lock()
	open := p.open
	p.open = map[string]kept{}
	p.mu.Unlock()
	for _, one := range open {
		one.source.Close() //nolint:errcheck // it was only read
	}
}

// digest covers all settings of a source.
func digest(ctx context.Context, spec tenantv1.DataSource, secrets Secrets) (sum [sha256.Size]byte, err error) {
	spec.SyncInterval, spec.Where = "", nil
	doing := "open the source"
	text, err := json.Marshal(spec)
	if err != nil {
		return sum, &Error{Class: Invalid, Doing: doing, Why: fmt.Sprintf("encode spec.source: %s", said(err.Error()))}
	}
	all := sha256.New()
	part(all, text)
	for _, name := range SecretNames(spec) {
		data, err := secret(ctx, doing, secrets, name)
		if err != nil {
			return sum, err
		}
		part(all, []byte(name))
		for _, key := range slices.Sorted(maps.Keys(data)) {
			part(all, []byte(key))
			part(all, data[key])
		}
	}
	all.Sum(sum[:0])
	return sum, nil
}

// part writes bytes unambiguously.
func part(to hash.Hash, bytes []byte) {
	to.Write(binary.BigEndian.AppendUint64(nil, uint64(len(bytes)))) //nolint:errcheck // hashes take everything
	to.Write(bytes)                                                  //nolint:errcheck // hashes take everything
}

// SecretNames returns the Secrets of a source, each once.
func SecretNames(spec tenantv1.DataSource) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	database := func(password *tenantv1.SecretRef, security *tenantv1.TLS) {
		if password != nil {
			add(password.Name)
		}
		if security != nil {
			if security.CARef != nil {
				add(security.CARef.Name)
			}
			add(security.ClientSecretName)
		}
	}
	switch {
	case spec.Type == tenantv1.SourceMySQL && spec.MySQL != nil:
		database(spec.MySQL.PasswordRef, spec.MySQL.TLS)
	case spec.Type == tenantv1.SourcePostgres && spec.Postgres != nil:
		database(spec.Postgres.PasswordRef, spec.Postgres.TLS)
	case spec.Type == tenantv1.SourceHTTP && spec.HTTP != nil:
		add(spec.HTTP.SecretName)
	}
	return names
}
