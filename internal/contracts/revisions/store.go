// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
)

// Kept is how many revisions of a version are kept.
const Kept = 20

const (
	// historyLimit and valueLimit bound what is read into memory.
	historyLimit = 4 << 20
	valueLimit   = 32 << 20
	prefix       = "contracts/"
	historyName  = "history.json"
)

// Keyed begins the digests of values with private parts.
const Keyed = "hmac-sha256:"

// ErrNotFound means that a revision is not stored.
var ErrNotFound = errors.New("the revision is not stored")

// Blobs is the part of the blob store that is used.
type Blobs interface {
	PutBytes(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
	List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error]
	Delete(ctx context.Context, key string) error
}

// Producer identifies a stack's contract.
type Producer struct {
	// Stack is the stack's salt: its UID, or the one it had before it was moved.
	Stack string
	// Contract is the name of the contract.
	Contract string
}

func (p Producer) key(name string) string { return prefix + p.Stack + "/" + p.Contract + "/" + name }

// Revision describes a published value.
type Revision struct {
	Version string `json:"version"`
	// Type is the digest of the version's type. A contract that is deleted and declared again can have
	// another one, by which this value must not be read; empty in revisions of earlier servers.
	Type        string    `json:"type,omitempty"`
	Number      int64     `json:"number"`
	Digest      string    `json:"digest"`
	PublishedAt time.Time `json:"publishedAt"`
	// Run is the run that made the value, SourceRevision what it applied, ApprovedBy who approved
	// the plan.
	Run            string `json:"run,omitempty"`
	SourceRevision string `json:"sourceRevision,omitempty"`
	ApprovedBy     string `json:"approvedBy,omitempty"`
}

// History lists the revisions of a producer, the oldest first.
type History struct {
	// Key is the key of digests of values with private parts.
	Key string `json:"key"`
	// Next is the number of the next revision.
	Next      int64      `json:"next"`
	Revisions []Revision `json:"revisions"`
}

// Last returns the last revision of a version.
func (h History) Last(version string) (Revision, bool) {
	for _, r := range slices.Backward(h.Revisions) {
		if r.Version == version {
			return r, true
		}
	}
	return Revision{}, false
}

// OtherType means that a version has revisions of another type than the contract declares now.
type OtherType struct{ Contract, Version string }

func (e *OtherType) Error() string {
	return fmt.Sprintf("contract %s %s was published with another type, and a version never changes. Declare this type as a new version, or restore the type that was deleted",
		e.Contract, e.Version)
}

// TypeDigest is the digest of a type, as revisions have it.
func TypeDigest(of shape.Type) string {
	sum := sha256.Sum256([]byte(of.String()))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Agrees returns an [OtherType] if a version has a revision of another type.
func (h History) Agrees(contract, version, digest string) error {
	other := func(r Revision) bool { return r.Version == version && r.Type != "" && r.Type != digest }
	if slices.ContainsFunc(h.Revisions, other) {
		return &OtherType{contract, version}
	}
	return nil
}

// Heads returns the last revision of each version, sorted by number.
func (h History) Heads() []Revision {
	var heads []Revision
	for _, r := range slices.Backward(h.Revisions) {
		if !slices.ContainsFunc(heads, func(head Revision) bool { return head.Version == r.Version }) {
			heads = append(heads, r)
		}
	}
	slices.SortFunc(heads, func(a, b Revision) int { return cmp.Compare(a.Number, b.Number) })
	return heads
}

// Digest returns the digest of a value, which is keyed if the value has private parts.
func (h History) Digest(v cty.Value, private bool) (string, error) {
	digest, err := document.Digest(v)
	return h.keyed(digest, private), err
}

// Part returns the digest of a part of a value, which is keyed if the part is private.
func (h History) Part(v cty.Value, of, private paths.Set) (string, error) {
	digest, err := document.Part(v, of)
	if err != nil {
		return "", err
	}
	meets := slices.ContainsFunc(private.Paths(), of.Meets)
	return h.keyed(digest, meets), nil
}

func (h History) keyed(digest string, private bool) string {
	if !private || digest == "" {
		return digest
	}
	mac := hmac.New(sha256.New, []byte(h.Key))
	mac.Write([]byte(digest)) //nolint:errcheck // a hash takes everything
	return Keyed + hex.EncodeToString(mac.Sum(nil))
}

// Store stores revisions.
type Store struct {
	Blobs Blobs

	cache cache
	// histories has the histories that were looked up, by their producers.
	histories sync.Map
}

// Lookup returns the history of a producer that has a revision, from memory if it can.
func (s *Store) Lookup(ctx context.Context, of Producer, number int64) (History, error) {
	has := func(r Revision) bool { return r.Number == number }
	if known, ok := s.histories.Load(of); ok && slices.ContainsFunc(known.(History).Revisions, has) {
		return known.(History), nil
	}
	h, err := s.History(ctx, of)
	if err != nil {
		return h, err
	}
	if !slices.ContainsFunc(h.Revisions, has) {
		return h, fmt.Errorf("read revision %d of contract %s: %w", number, of.Contract, ErrNotFound)
	}
	s.histories.Store(of, h)
	return h, nil
}

// History reads the history of a producer. It is empty if nothing was published.
func (s *Store) History(ctx context.Context, of Producer) (History, error) {
	text, err := s.Blobs.Get(ctx, of.key(historyName), historyLimit)
	if errors.Is(err, blob.ErrNotFound) {
		return History{}, nil
	}
	var h History
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil {
		return h, fmt.Errorf("read the revisions of contract %s: %w", of.Contract, err)
	}
	return h, nil
}

// Publish stores a value as a revision, unless the last one of its version is equal. r has its
// version and origin; the result has its number and digest too. The value must be wholly known.
func (s *Store) Publish(ctx context.Context, of Producer, v cty.Value, private bool, r Revision) (published Revision, isNew bool, err error) {
	h, err := s.History(ctx, of)
	if err != nil {
		return r, false, err
	}
	if err := h.Agrees(of.Contract, r.Version, r.Type); err != nil && r.Type != "" {
		return r, false, err
	}
	if h.Key == "" {
		key := make([]byte, 32)
		rand.Read(key) //nolint:errcheck // it never fails
		h.Key, h.Next = hex.EncodeToString(key), 1
	}
	text, err := document.Canonical(v)
	if err != nil {
		return r, false, fmt.Errorf("publish contract %s %s: %w", of.Contract, r.Version, err)
	}
	if len(text) > valueLimit {
		return r, false, fmt.Errorf("publish contract %s %s: the value has %d bytes; the limit is %d", of.Contract, r.Version, len(text), valueLimit)
	}
	r.Digest = h.keyed(document.DigestOf(text), private)
	if last, ok := h.Last(r.Version); ok && last.Digest == r.Digest {
		return last, false, nil
	}
	r.Number = h.Next
	if err := s.Blobs.PutBytes(ctx, of.key(valueName(r.Number)), text); err != nil {
		return r, false, fmt.Errorf("store revision %d of contract %s: %w", r.Number, of.Contract, err)
	}
	h.Next++
	h.Revisions = append(h.Revisions, r)
	spent := h.prune()
	if err := s.write(ctx, of, h); err != nil {
		return r, false, err
	}
	for _, number := range spent {
		if err := s.Blobs.Delete(ctx, of.key(valueName(number))); err != nil {
			return r, true, fmt.Errorf("remove revision %d of contract %s: %w", number, of.Contract, err)
		}
	}
	return r, true, nil
}

// prune drops the oldest revisions of versions that have too many, and returns their numbers.
func (h *History) prune() (spent []int64) {
	count := map[string]int{}
	for _, r := range h.Revisions {
		count[r.Version]++
	}
	h.Revisions = slices.DeleteFunc(h.Revisions, func(r Revision) bool {
		if count[r.Version] <= Kept {
			return false
		}
		count[r.Version]--
		spent = append(spent, r.Number)
		return true
	})
	return spent
}

func (s *Store) write(ctx context.Context, of Producer, h History) error {
	text, err := json.Marshal(h)
	if err == nil {
		err = s.Blobs.PutBytes(ctx, of.key(historyName), text)
	}
	if err != nil {
		return fmt.Errorf("write the revisions of contract %s: %w", of.Contract, err)
	}
	s.histories.Delete(of)
	return nil
}

// Retire removes the revisions of a version that is not published any more.
func (s *Store) Retire(ctx context.Context, of Producer, version string) error {
	h, err := s.History(ctx, of)
	if err != nil {
		return err
	}
	var spent []int64
	h.Revisions = slices.DeleteFunc(h.Revisions, func(r Revision) bool {
		if r.Version == version {
			spent = append(spent, r.Number)
		}
		return r.Version == version
	})
	if len(spent) == 0 {
		return nil
	}
	if err := s.write(ctx, of, h); err != nil {
		return err
	}
	for _, number := range spent {
		if err := s.Blobs.Delete(ctx, of.key(valueName(number))); err != nil {
			return fmt.Errorf("remove revision %d of contract %s: %w", number, of.Contract, err)
		}
	}
	return nil
}

// Value reads the value of a revision. Values are kept in memory for a while: many consumers read
// the same one at the same time.
func (s *Store) Value(ctx context.Context, of Producer, number int64) (cty.Value, error) {
	return s.cache.get(of.key(valueName(number)), func(key string) (cty.Value, int, error) {
		text, err := s.Blobs.Get(ctx, key, valueLimit)
		if errors.Is(err, blob.ErrNotFound) {
			err = ErrNotFound
		}
		if err != nil {
			return cty.NilVal, 0, fmt.Errorf("read revision %d of contract %s: %w", number, of.Contract, err)
		}
		v, err := document.Parse(text)
		if err != nil {
			return cty.NilVal, 0, fmt.Errorf("read revision %d of contract %s: %w", number, of.Contract, err)
		}
		return v, len(text), nil
	})
}

// Forget removes everything that a stack published.
func (s *Store) Forget(ctx context.Context, stack string) error {
	for info, err := range s.Blobs.List(ctx, prefix+stack+"/") {
		if err == nil {
			err = s.Blobs.Delete(ctx, info.Key)
		}
		if err != nil {
			return fmt.Errorf("remove what a deleted stack published: %w", err)
		}
	}
	s.cache.forget(prefix + stack + "/")
	s.histories.Range(func(of, _ any) bool {
		if of.(Producer).Stack == stack {
			s.histories.Delete(of)
		}
		return true
	})
	return nil
}

// Held is a stack, or a bridge, that has revisions.
type Held struct {
	// Salt identifies it.
	Salt string
	// Changed is when something was stored last.
	Changed time.Time
}

// Stacks lists what has revisions, by salt.
func (s *Store) Stacks(ctx context.Context) ([]Held, error) {
	var all []Held
	for info, err := range s.Blobs.List(ctx, prefix) {
		if err != nil {
			return nil, fmt.Errorf("list the published contracts: %w", err)
		}
		salt, _, _ := strings.Cut(strings.TrimPrefix(info.Key, prefix), "/")
		if len(all) == 0 || all[len(all)-1].Salt != salt {
			all = append(all, Held{Salt: salt})
		}
		if last := &all[len(all)-1]; info.Modified.After(last.Changed) {
			last.Changed = info.Modified
		}
	}
	return all, nil
}

// Collect removes the revisions of what does not live any more, as when somebody removed its finalizer.
// living is asked after they were listed, and for all at once. Young ones stay: a stack that is being
// moved has its revisions before its status says whose they are.
func (s *Store) Collect(ctx context.Context, living func(context.Context) (map[string]bool, error), before time.Time) (removed int, err error) {
	held, err := s.Stacks(ctx)
	if err != nil || len(held) == 0 {
		return 0, err
	}
	lives, err := living(ctx)
	if err != nil {
		return 0, fmt.Errorf("find whose revisions are still needed: %w", err)
	}
	for _, h := range held {
		if lives[h.Salt] || !h.Changed.Before(before) {
			continue
		}
		if err := s.Forget(ctx, h.Salt); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

func valueName(number int64) string { return "revision-" + strconv.FormatInt(number, 10) + ".json" }
