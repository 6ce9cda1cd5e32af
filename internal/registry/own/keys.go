// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package own

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/release"
)

// namespaceKeys reads the signing keys of a namespace.
func (s *Store) namespaceKeys(ctx context.Context, namespace string) (release.Keys, error) {
	text, err := s.bucket.Get(ctx, layout.SigningKeysKey(namespace), release.MaxKeys)
	if errors.Is(err, blob.ErrNotFound) {
		return release.Keys{}, nil
	}
	if err != nil {
		return release.Keys{}, err
	}
	keys, err := release.ParseKeys(text)
	if err != nil {
		return release.Keys{}, fmt.Errorf("%s: %w", layout.SigningKeysKey(namespace), err)
	}
	return keys, nil
}

// checkNamespace returns an error for a name that no namespace can have.
func checkNamespace(namespace string) error {
	if p, err := layout.ParseProvider(namespace + "/x"); err != nil || p.Namespace != namespace {
		return &InvalidError{What: fmt.Sprintf("the namespace %q", namespace), Reason: "expected at most 64 lower-case letters, digits, - and _, and a letter or digit first and last"}
	}
	return nil
}

// Keys describes the signing keys of a namespace.
func (s *Store) Keys(ctx context.Context, namespace string) ([]release.KeyInfo, error) {
	if err := checkNamespace(namespace); err != nil {
		return nil, err
	}
	keys, err := s.namespaceKeys(ctx, namespace)
	if err != nil {
		return nil, err
	}
	list := []release.KeyInfo{}
	for _, key := range keys.GPG {
		list = append(list, release.Describe(key, s.now()))
	}
	return list, nil
}

// AddKey adds an armoured public key to a namespace. To add a key again replaces it, which is how
// its owner extends or revokes it.
func (s *Store) AddKey(ctx context.Context, namespace string, armor []byte) (release.KeyInfo, error) {
	if err := checkNamespace(namespace); err != nil {
		return release.KeyInfo{}, err
	}
	added, infos, err := release.ReadKeys(armor, s.now())
	if err != nil {
		return release.KeyInfo{}, &InvalidError{What: "add a signing key to " + namespace, Reason: err.Error()}
	}
	info := infos[0]
	return info, s.changeKeys(ctx, namespace, func(list []release.Key) ([]release.Key, error) {
		kept := slices.DeleteFunc(list, func(k release.Key) bool { return release.Describe(k, s.now()).Fingerprint == info.Fingerprint })
		if len(kept) == len(list) && info.Problem != "" {
			return nil, &InvalidError{What: "add a signing key to " + namespace, Reason: fmt.Sprintf("the key %s cannot be used: %s", info.ID, info.Problem)}
		}
		return append(kept, added...), nil
	})
}

// RemoveKey removes a key by its id or fingerprint. What it signed stays available.
func (s *Store) RemoveKey(ctx context.Context, namespace, id string) (removed release.KeyInfo, err error) {
	if err := checkNamespace(namespace); err != nil {
		return removed, err
	}
	id = strings.ToUpper(strings.TrimPrefix(strings.TrimSpace(id), "0x"))
	return removed, s.changeKeys(ctx, namespace, func(list []release.Key) ([]release.Key, error) {
		none := &offer.NotFoundError{What: fmt.Sprintf("the signing key %q of %s", id, namespace)}
		var kept []release.Key
		for _, key := range list {
			info := release.Describe(key, s.now())
			if len(id) >= 8 && (strings.HasSuffix(info.Fingerprint, id) || strings.EqualFold(info.ID, id)) {
				removed = info
				continue
			}
			none.Known = append(none.Known, info.ID)
			kept = append(kept, key)
		}
		if len(kept) == len(list) {
			return nil, none
		}
		return kept, nil
	})
}

func (s *Store) changeKeys(ctx context.Context, namespace string, change func([]release.Key) ([]release.Key, error)) error {
	s.keys.Lock()
	defer s.keys.Unlock()
	keys, err := s.namespaceKeys(ctx, namespace)
	if err != nil {
		return err
	}
	if keys.GPG, err = change(slices.Clone(keys.GPG)); err != nil {
		return err
	}
	if err := s.put(ctx, layout.SigningKeysKey(namespace), keys.Bytes()); err != nil {
		return &offer.StoreError{What: "the signing keys of " + namespace, Err: err}
	}
	s.forget(namespace)
	return nil
}

// forget forgets the releases of a namespace, with their keys.
func (s *Store) forget(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, versions := range s.found {
		for version, f := range versions {
			if p.Namespace == namespace && f.record != nil {
				forgotten := *f
				forgotten.record = nil
				versions[version] = &forgotten
			}
		}
	}
}

// newest replaces keys by those of the namespace, which may be extended or revoked since.
func (s *Store) newest(list, namespace []release.Key) []release.Key {
	current := map[string]release.Key{}
	for _, key := range namespace {
		current[release.Describe(key, s.now()).Fingerprint] = key
	}
	list = slices.Clone(list)
	for i, key := range list {
		if newer, ok := current[release.Describe(key, s.now()).Fingerprint]; ok {
			list[i] = newer
		}
	}
	return list
}
