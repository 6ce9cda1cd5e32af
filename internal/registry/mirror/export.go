// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/providers"
)

// Want is a release that is to be carried somewhere.
type Want struct {
	layout.ProviderVersion
	// Hashes are those of the lock file; empty if it has none.
	Hashes []string
	// Allowed chooses a release for a Version that is empty: the newest one of the registry that it allows and that all platforms
	// have.
	Allowed func(version string) bool
}

// Wanted collects the releases in a lock file, .terraform.lock.hcl, and adds them to a list.
func Wanted(list []Want, lockFile []byte) ([]Want, error) {
	parsed, err := providers.ParseLockFile(lockFile)
	if err != nil {
		return nil, err
	}
	for _, lock := range parsed.Locks {
		p, err := layout.ParseProvider(lock.Address.String())
		if err != nil {
			return nil, err
		}
		if _, err := layout.ParseVersion(lock.Version); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		v := layout.ProviderVersion{Provider: p, Version: lock.Version}
		at := slices.IndexFunc(list, func(w Want) bool { return w.ProviderVersion == v })
		if at < 0 {
			list = append(list, Want{ProviderVersion: v, Hashes: lock.Hashes})
			continue
		}
		list[at].Hashes = append(slices.Clone(list[at].Hashes), lock.Hashes...)
	}
	slices.SortFunc(list, func(a, b Want) int { return cmp.Compare(a.String(), b.String()) })
	return list, nil
}

// Carried is an archive that was exported or imported.
type Carried struct {
	Provider string `json:"provider"`
	Version  string `json:"version"`
	Platform string `json:"platform"`
	SHA256   string `json:"sha256"`
	Size     int64  `json:"size"`
	// Signer is the fingerprint of the key that signed the checksums; empty if nobody did.
	Signer string `json:"signer,omitempty"`
	// NewKey is true for an import that is signed by a key that the mirror did not have before.
	NewKey bool `json:"newKey,omitempty"`
}

// Export downloads and verifies the archives of releases for these platforms, and writes them to a
// tar archive with the layout of a mirror's bucket. It works in a directory that it empties again.
// tell gets each archive when it is there.
func Export(ctx context.Context, wants []Want, platforms []layout.Platform, o Options, dir string, to io.Writer, tell func(Carried)) (err error) {
	dir, err = filepath.Abs(dir) // for the URL of the bucket
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(dir, "mirror-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	bucket, err := blob.OpenPlain(ctx, "file://"+filepath.Join(work, "bucket"))
	if err != nil {
		return err
	}
	defer bucket.Close() //nolint:errcheck // it is removed
	o.Spool = filepath.Join(work, "spool")
	m, err := newMirror(bucket, o)
	if err != nil {
		return err
	}
	for _, want := range wants {
		if want.Version == "" {
			if want.Version, err = m.newest(ctx, want, platforms); err != nil {
				return err
			}
		}
		for _, p := range platforms {
			carried, err := m.carry(ctx, want, p)
			if err != nil {
				return err
			}
			tell(carried)
		}
	}
	return m.pack(ctx, to)
}

// newest is the newest version that a want allows. A pre-release counts only if nothing else is allowed, as in a registry of its
// own.
func (m *Mirror) newest(ctx context.Context, want Want, platforms []layout.Platform) (string, error) {
	all, err := m.Versions(ctx, want.Provider)
	if err != nil {
		return "", err
	}
	var best *semver.Version
	for _, v := range all {
		parsed, err := layout.ParseVersion(v.Version)
		if err != nil || !want.Allowed(v.Version) || slices.ContainsFunc(platforms, func(p layout.Platform) bool { return !slices.Contains(v.Platforms, p) }) {
			continue
		}
		if best == nil || (best.Prerelease() != "") == (parsed.Prerelease() != "") && parsed.GreaterThan(best) || best.Prerelease() != "" && parsed.Prerelease() == "" {
			best = parsed
		}
	}
	if best == nil {
		return "", fmt.Errorf("choose a version of %s: none of its %d versions fits the constraints of the modules, with packages for all platforms", want.Provider, len(all))
	}
	return best.Original(), nil
}

// carry gets an archive, and compares it with the lock file.
func (m *Mirror) carry(ctx context.Context, want Want, p layout.Platform) (Carried, error) {
	f, err := m.archive(ctx, want.ProviderVersion, p)
	if err != nil {
		return Carried{}, err
	}
	if err := f.Content.Close(); err != nil {
		return Carried{}, err
	}
	r, err := m.record(ctx, want.ProviderVersion)
	if err != nil {
		return Carried{}, err
	}
	pkg := r.Packages[p]
	allowed := len(want.Hashes) == 0
	comparable := false
	for _, hash := range want.Hashes {
		allowed = allowed || slices.Contains(pkg.Hashes, hash)
		comparable = comparable || strings.HasPrefix(hash, "zh:")
	}
	// A lock file without "zh:" knows only the platforms for which it was made.
	if !allowed && comparable {
		return Carried{}, &UntrustedError{fmt.Sprintf("%s for %s", want, p), errors.New("the lock file does not have one of its hashes: " + strings.Join(pkg.Hashes, ", "))}
	}
	return carried(r, p), nil
}

func carried(r *record, p layout.Platform) Carried {
	pkg := r.Packages[p]
	return Carried{Provider: r.Provider.String(), Version: r.Version, Platform: p.String(), SHA256: pkg.Hash("zh:"), Size: pkg.Size, Signer: r.Signer}
}

// pack writes the files of all releases. What is known of them is left out: whoever imports them
// finds it out again.
func (m *Mirror) pack(ctx context.Context, to io.Writer) error {
	archive := tar.NewWriter(to)
	for info, err := range m.bucket.List(ctx, layout.MirrorPrefix) {
		if err != nil {
			return err
		}
		if err := m.packOne(ctx, archive, info); err != nil {
			return err
		}
	}
	return archive.Close()
}

func (m *Mirror) packOne(ctx context.Context, archive *tar.Writer, info blob.Info) error {
	from, err := m.bucket.Open(ctx, info.Key)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	// The time is left out, so that the same releases make the same archive.
	if err := archive.WriteHeader(&tar.Header{Name: info.Key, Mode: 0o644, Size: info.Size, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.Copy(archive, from)
	return err
}
