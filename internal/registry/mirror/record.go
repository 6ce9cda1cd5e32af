// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/release"
)

// record is a verified release, and which of its archives the mirror verified. It is not changed;
// a change makes a new one.
type record struct {
	release.Release
	// stored are the archives in the bucket that were verified.
	stored map[layout.Platform]bool
}

// weight implements heavy.
func (r *record) weight() int {
	const archive = 300
	n := len(r.SumsFile) + len(r.SignatureFile) + archive*(1+len(r.Packages))
	for _, key := range r.Keys {
		n += len(key.Armor)
	}
	return n
}

// storedRecord is its document in the bucket; sums and signature are files of their own.
type storedRecord struct {
	Protocols []string      `json:"protocols,omitempty"`
	Keys      []release.Key `json:"signing_keys,omitempty"`
	Signer    string        `json:"signer,omitempty"`
	Verified  time.Time     `json:"verified"`
	// Sums is the SHA-256 sum of the list of sums that was verified.
	Sums     string                     `json:"sums"`
	Packages map[string]release.Package `json:"packages"`
	Stored   []string                   `json:"stored,omitempty"`
}

// maxRecord limits a record: 20 platforms with hashes and a dozen keys have some 100 KiB.
const maxRecord = 4 << 20

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// load reads a release from the bucket, nil if there is none, and verifies its sums and signature
// again: whoever writes to the bucket can write a record. What it returns is as trustworthy as the
// keys in the record; without a key, see [Mirror.confirm].
func (m *Mirror) load(ctx context.Context, v layout.ProviderVersion) (*record, error) {
	text, err := m.get(ctx, v.OwnKey(), maxRecord)
	if text == nil || err != nil {
		return nil, err
	}
	var stored storedRecord
	if err := json.Unmarshal(text, &stored); err != nil {
		m.log.Warn("the stored record of a provider is damaged; it is verified again", "provider", v.String(), "error", err)
		return nil, nil
	}
	sums, err := m.get(ctx, v.Key(v.Sums()), release.MaxSums)
	if err != nil || sumOf(sums) != stored.Sums {
		return nil, err
	}
	signature, err := m.get(ctx, v.Key(v.Signature()), maxSignature)
	if err != nil {
		return nil, err
	}
	// A key that expired since then has signed it nevertheless.
	r, err := m.verify(v, sums, signature, stored.Keys, time.Time{})
	if err != nil {
		m.log.Warn("the stored record of a provider is not trusted, and the provider is verified anew", "provider", v.String(), "error", err)
		return nil, nil
	}
	stored.fill(r)
	return r, nil
}

// fill adds what was found out when the release was verified first. The sums are the signed ones.
func (stored *storedRecord) fill(r *record) {
	r.Protocols, r.Verified, r.Published = stored.Protocols, stored.Verified, stored.Verified
	for name, pkg := range stored.Packages {
		platform, err := layout.ParsePlatform(name)
		signed, known := r.Packages[platform]
		if err != nil || !known || pkg.Hash("zh:") != signed.Hash("zh:") {
			continue
		}
		if h1 := pkg.Hash("h1:"); h1 != "" {
			signed.Hashes = []string{"h1:" + h1, signed.Hashes[0]}
		}
		signed.Size = max(0, pkg.Size)
		r.Packages[platform] = signed
	}
	for _, name := range stored.Stored {
		if platform, err := layout.ParsePlatform(name); err == nil && r.Packages[platform].Hashes != nil {
			r.stored[platform] = true
		}
	}
}

// get reads an object; nil if there is none.
func (m *Mirror) get(ctx context.Context, key string, limit int64) ([]byte, error) {
	data, err := m.bucket.Get(ctx, key, limit)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, nil
	}
	return data, err
}

// save writes a newly verified release in the order in which other programs need it: an archive is
// only found with its sums, signature and keys.
func (m *Mirror) save(ctx context.Context, r *record) error {
	err := m.bucket.Put(ctx, r.Key(r.Sums()), bytes.NewReader(r.SumsFile))
	if err == nil {
		err = m.bucket.Put(ctx, r.Key(r.Signature()), bytes.NewReader(r.SignatureFile))
	}
	if err == nil {
		err = m.saveKeys(ctx, r.Provider, r.Keys)
	}
	if err == nil {
		err = m.saveRecord(ctx, r)
	}
	if err != nil {
		return &offer.StoreError{What: r.String(), Err: err}
	}
	return nil
}

func (m *Mirror) saveRecord(ctx context.Context, r *record) error {
	stored := storedRecord{Protocols: r.Protocols, Keys: r.Keys, Signer: r.Signer, Verified: r.Verified, Sums: sumOf(r.SumsFile), Packages: map[string]release.Package{}}
	for platform, pkg := range r.Packages {
		stored.Packages[platform.String()] = pkg
	}
	for platform := range r.stored {
		stored.Stored = append(stored.Stored, platform.String())
	}
	slices.Sort(stored.Stored)
	text, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	if err := m.bucket.Put(ctx, r.OwnKey(), bytes.NewReader(text)); err != nil {
		return err
	}
	m.releases.put(r.ProviderVersion, r)
	return nil
}

// keysKey is the key of the signing keys of an origin's namespace, where boring-registry looks.
func keysKey(p layout.Provider) string {
	return layout.MirrorPrefix + p.Host + "/" + p.Namespace + "/signing-keys.json"
}

func (m *Mirror) saveKeys(ctx context.Context, p layout.Provider, more []release.Key) error {
	key := keysKey(p)
	defer m.lock(key)()
	have, err := m.keys(ctx, p)
	if err != nil || !have.Merge(more) {
		return err
	}
	return m.bucket.Put(ctx, key, bytes.NewReader(have.Bytes()))
}

func (m *Mirror) keys(ctx context.Context, p layout.Provider) (release.Keys, error) {
	text, err := m.get(ctx, keysKey(p), release.MaxKeys)
	if text == nil || err != nil {
		return release.Keys{}, err
	}
	return release.ParseKeys(text)
}

// lock excludes other changes of an object by this process. Those by others are rare, and lose
// nothing that is not found out again.
func (m *Mirror) lock(key string) (unlock func()) {
	held, _ := m.changes.LoadOrStore(key, &sync.Mutex{})
	mutex := held.(*sync.Mutex) //nolint:errcheck,forcetypeassert // the map has nothing else
	mutex.Lock()
	return mutex.Unlock
}

// change replaces a record by a changed copy of the newest one: another process may have changed it.
func (m *Mirror) change(ctx context.Context, known *record, edit func(*record)) error {
	defer m.lock(known.String())()
	r, err := m.load(ctx, known.ProviderVersion)
	if err != nil {
		return err
	}
	if r == nil || !bytes.Equal(r.SumsFile, known.SumsFile) {
		r = known.clone()
	}
	edit(r)
	return m.saveRecord(ctx, r)
}

func (r *record) clone() *record {
	c := *r
	c.Packages, c.stored = maps.Clone(r.Packages), maps.Clone(r.stored)
	return &c
}
