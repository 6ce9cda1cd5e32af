// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package opentofu

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/blob"
)

// Version is a version that the registry keeps.
type Version struct {
	Tool    string `json:"tool"`
	Version string `json:"version"`
	// From is the origin of the files, without its secrets. By made the registry fetch the first one,
	// at Kept. Signer is the fingerprint of the key that signed the release. All are empty for
	// versions that an earlier Yuba fetched.
	From   string     `json:"from,omitempty"`
	By     string     `json:"by,omitempty"`
	Kept   *time.Time `json:"kept,omitempty"`
	Signer string     `json:"signer,omitempty"`
	// Files are the kept files.
	Files []KeptFile `json:"files"`
}

// KeptFile is a kept file. SHA256 is the signed checksum of an archive.
type KeptFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"`
}

const (
	prefix     = "yuba/tools/"
	recordName = "record.json"
	maxRecord  = 64 << 10
)

// List lists what is kept: by tool, the newest versions first.
func (k *Kept) List(ctx context.Context) ([]Version, error) {
	all := map[string]*Version{}
	for info, err := range k.Bucket.List(ctx, prefix) {
		if err != nil {
			return nil, fmt.Errorf("list the kept tools: %w", err)
		}
		parts := strings.Split(strings.TrimPrefix(info.Key, prefix), "/")
		if len(parts) != 3 {
			continue
		}
		id := path.Join(parts[0], parts[1])
		v := all[id]
		if v == nil {
			v = &Version{Tool: parts[0], Version: parts[1], Files: []KeptFile{}}
			all[id] = v
		}
		if _, err := k.ParseFile(parts[0], parts[1], parts[2]); err == nil {
			v.Files = append(v.Files, KeptFile{Name: parts[2], Size: info.Size})
		}
	}
	list := make([]Version, 0, len(all))
	for _, v := range all {
		if err := k.describe(ctx, v); err != nil {
			return nil, err
		}
		if len(v.Files) > 0 {
			list = append(list, *v)
		}
	}
	slices.SortFunc(list, func(a, b Version) int { return cmp.Or(cmp.Compare(b.Tool, a.Tool), newer(a.Version, b.Version)) })
	return list, nil
}

func newer(a, b string) int {
	x, errX := semver.NewVersion(a)
	y, errY := semver.NewVersion(b)
	if errX != nil || errY != nil {
		return cmp.Compare(b, a)
	}
	return y.Compare(x)
}

// describe adds the record and the checksums of a version.
func (k *Kept) describe(ctx context.Context, v *Version) error {
	f := File{Tool: v.Tool, Version: v.Version}
	text, err := k.Bucket.Get(ctx, f.key(recordName), maxRecord)
	if err == nil {
		files := v.Files
		if err := json.Unmarshal(text, v); err != nil {
			return fmt.Errorf("read the record of %s %s: %w", v.Tool, v.Version, err)
		}
		v.Tool, v.Version, v.Files = f.Tool, f.Version, files
	} else if !errors.Is(err, blob.ErrNotFound) {
		return fmt.Errorf("read the record of %s %s: %w", v.Tool, v.Version, err)
	}
	sums, err := k.sums(ctx, f)
	if err != nil && !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	for i := range v.Files {
		v.Files[i].SHA256, _ = sumOf(sums, v.Files[i].Name)
	}
	return nil
}

// sums returns the verified list of checksums of a version.
func (k *Kept) sums(ctx context.Context, f File) ([]byte, error) {
	sums, err := k.Bucket.Get(ctx, f.key(k.Sources[f.Tool].Sums(f.Version)), maxSums)
	if err != nil {
		return nil, fmt.Errorf("read the checksums of %s %s: %w", f.Tool, f.Version, err)
	}
	return sums, nil
}

// record records where a version came from. The first one counts.
func (k *Kept) record(ctx context.Context, f File, by, signer string) error {
	now := time.Now().UTC().Truncate(time.Second)
	text, err := json.Marshal(Version{Tool: f.Tool, Version: f.Version, From: k.Sources[f.Tool].Shown(), By: by, Kept: &now, Signer: signer})
	if err != nil {
		return err
	}
	return k.put(ctx, f.key(recordName), bytes.NewReader(text))
}
