// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Digest identifies everything that rules judge, as "sha256:" and hex digits. Which run made the plan,
// and when, is no part of it: people approve the plan, whoever made it.
func (d *Document) Digest() (string, error) {
	type answer struct {
		digest string
		err    error
	}
	got := d.Once("digest", func() any {
		digest, err := d.digest()
		return answer{digest, err}
	}).(answer)
	return got.digest, got.err
}

// digest encodes the changes one by one: a document of 10 000 of them does not fit into a few MB.
func (d *Document) digest() (string, error) {
	rest := *d
	rest.Run.ID, rest.Run.PlannedAt = "", time.Time{}
	rest.Changes, rest.Drift, rest.Configuration.Resources = nil, nil, nil
	sum := sha256.New()
	write := json.NewEncoder(sum)
	if err := write.Encode([]any{rest, len(d.Changes), len(d.Drift), len(d.Configuration.Resources)}); err != nil {
		return "", err
	}
	for _, list := range [][]Change{d.Changes, d.Drift} {
		for i := range list {
			if err := write.Encode(&list[i]); err != nil {
				return "", err
			}
		}
	}
	for i := range d.Configuration.Resources {
		if err := write.Encode(&d.Configuration.Resources[i]); err != nil {
			return "", err
		}
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}
