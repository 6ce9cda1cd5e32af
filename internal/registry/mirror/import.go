// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/release"
)

const (
	maxImport      = 256 << 30
	maxImportFiles = 10_000
)

// InvalidError means that an archive to import is not one that Export made. Nothing was stored.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return "import into the mirror: " + e.Reason }

// ImportOptions configure an import.
type ImportOptions struct {
	// AllowUnsigned accepts releases of registry.opentofu.org without a signing key. On its way the
	// archive has nothing of the protection that the connection to that registry had.
	AllowUnsigned bool
	// AllowNewKeys accepts a signer that is none of the keys that the mirror has for the namespace. The
	// archive brings its own keys, so somebody who changes it can sign it again. The first key of a
	// namespace is always accepted, and reported as [Carried.NewKey].
	AllowNewKeys bool
}

// imported is an archive to import, on disk.
type imported struct {
	dir   string
	paths map[string]string // by key
}

// Import stores the releases in a tar archive that [Export] made. It verifies all checksums and
// signatures before it stores anything.
func (m *Mirror) Import(ctx context.Context, from io.Reader, o ImportOptions) ([]Carried, error) {
	staged, err := m.staging.New()
	if err != nil {
		return nil, &offer.StoreError{What: "the archive to import", Err: err}
	}
	defer staged.Remove()
	in := &imported{dir: staged.Dir, paths: map[string]string{}}
	if err := in.receive(ctx, from); err != nil {
		return nil, err
	}
	records, archives, err := m.verifyImport(ctx, in, o)
	if err != nil {
		return nil, err
	}
	var list []Carried
	for _, f := range archives {
		r := records[f.ProviderVersion]
		known, err := m.keys(ctx, r.Provider)
		if err != nil {
			return nil, err
		}
		c := carried(r, f.Platform)
		c.NewKey = m.isNewKey(known, r.Signer)
		list = append(list, c)
	}
	for _, r := range records {
		if err := m.save(ctx, r); err != nil {
			return nil, err
		}
	}
	for _, f := range archives {
		if err := m.take(ctx, records[f.ProviderVersion], f.Platform, in.paths[f.Key(f.Name)]); err != nil {
			return nil, err
		}
		m.indexes.forget(f.Provider)
	}
	return list, nil
}

// isNewKey reports whether the signer is none of the known keys.
func (m *Mirror) isNewKey(known release.Keys, signer string) bool {
	return signer != "" && !slices.ContainsFunc(known.GPG, func(k release.Key) bool { return release.Describe(k, m.now()).Fingerprint == signer })
}

// receive unpacks an archive, and refuses everything that is not part of a mirror.
func (in *imported) receive(ctx context.Context, from io.Reader) error {
	archive := tar.NewReader(io.LimitReader(from, maxImport))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return in.broken(ctx, err)
		}
		key := strings.TrimPrefix(header.Name, "./")
		if header.Typeflag == tar.TypeDir || strings.HasPrefix(key, layout.OwnPrefix) {
			continue
		}
		if err := in.accept(header, key); err != nil {
			return err
		}
		if err := in.save(archive, key); err != nil {
			var local *fs.PathError
			if errors.As(err, &local) {
				return &offer.StoreError{What: "the archive to import", Err: err}
			}
			return in.broken(ctx, err)
		}
	}
	if len(in.paths) == 0 {
		return &InvalidError{"the archive is empty; make one with\n    yuba registry mirror .terraform.lock.hcl --to archive.tar"}
	}
	return nil
}

func (in *imported) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &InvalidError{"the archive ended early"}
	}
	if errors.Is(err, tar.ErrHeader) {
		return &InvalidError{"it is not a tar archive"}
	}
	return fmt.Errorf("import into the mirror: receive the archive: %w", err)
}

func (in *imported) accept(header *tar.Header, key string) error {
	f, ok := layout.ProviderOfKey(key)
	switch {
	case header.Typeflag != tar.TypeReg:
		return &InvalidError{fmt.Sprintf("%q in the archive is not a regular file", shorten.Cut(key, 120))}
	case !isKeys(key) && (!ok || f.Host == ""):
		return &InvalidError{fmt.Sprintf("%q in the archive is not a file of a mirrored provider", shorten.Cut(key, 120))}
	case in.paths[key] != "":
		return &InvalidError{key + " is twice in the archive"}
	case len(in.paths) >= maxImportFiles:
		return &InvalidError{fmt.Sprintf("the archive has more than %d files", maxImportFiles)}
	case header.Size > release.MaxArchive:
		return &InvalidError{fmt.Sprintf("%s has more than %d GiB", key, release.MaxArchive>>30)}
	}
	return nil
}

// isKeys reports whether a key is that of the signing keys of an origin's namespace.
func isKeys(key string) bool {
	parts := strings.Split(key, "/")
	if len(parts) != 5 {
		return false
	}
	p, err := layout.ParseProvider(parts[2] + "/" + parts[3] + "/x")
	return err == nil && keysKey(p) == key
}

func (in *imported) save(from io.Reader, key string) error {
	path := filepath.Join(in.dir, strconv.Itoa(len(in.paths)))
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	in.paths[key] = path
	return errors.Join(err, file.Close())
}

func (in *imported) read(key string, limit int64) ([]byte, error) {
	path := in.paths[key]
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(file, limit+1))
}

// verifyImport verifies all releases of an import, and their archives.
func (m *Mirror) verifyImport(ctx context.Context, in *imported, o ImportOptions) (map[layout.ProviderVersion]*record, []layout.ProviderFile, error) {
	records := map[layout.ProviderVersion]*record{}
	var archives []layout.ProviderFile
	for key := range in.paths {
		f, ok := layout.ProviderOfKey(key)
		if !ok || f.Platform == (layout.Platform{}) {
			continue
		}
		archives = append(archives, f)
		if records[f.ProviderVersion] != nil {
			continue
		}
		r, err := m.verifyImported(ctx, in, f.ProviderVersion, o)
		if err != nil {
			return nil, nil, err
		}
		records[f.ProviderVersion] = r
	}
	slices.SortFunc(archives, func(a, b layout.ProviderFile) int { return cmp.Compare(a.Key(a.Name), b.Key(b.Name)) })
	for _, f := range archives {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if err := verifyArchive(records[f.ProviderVersion], f, in.paths[f.Key(f.Name)]); err != nil {
			return nil, nil, err
		}
	}
	return records, archives, nil
}

func verifyArchive(r *record, f layout.ProviderFile, path string) error {
	what := fmt.Sprintf("%s for %s", r, f.Platform)
	if _, signed := r.Packages[f.Platform]; !signed {
		return &UntrustedError{what, errors.New("the signed list of checksums does not have it")}
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	sum, err := release.Sum(file)
	if err != nil {
		return err
	}
	if err := r.check(f.Platform, sum); err != nil {
		return &UntrustedError{what, err}
	}
	pkg, err := r.inspect(f.Platform, path)
	if err != nil {
		return err
	}
	r.Packages[f.Platform] = pkg
	return nil
}

// verifyImported verifies the sums of a release.
func (m *Mirror) verifyImported(ctx context.Context, in *imported, v layout.ProviderVersion, o ImportOptions) (*record, error) {
	if err := m.rules.check(v.Provider); err != nil {
		return nil, err
	}
	sums, err := in.read(v.Key(v.Sums()), release.MaxSums)
	if err != nil {
		return nil, err
	}
	signature, err := in.read(v.Key(v.Signature()), maxSignature)
	if err != nil {
		return nil, err
	}
	text, err := in.read(keysKey(v.Provider), release.MaxKeys)
	if err != nil {
		return nil, err
	}
	if sums == nil {
		return nil, &InvalidError{fmt.Sprintf("the archive lacks the checksums of %s", v)}
	}
	var keys release.Keys
	if text != nil {
		if keys, err = release.ParseKeys(text); err != nil {
			return nil, &InvalidError{fmt.Sprintf("%s: %v", keysKey(v.Provider), err)}
		}
	}
	r, err := m.verify(v, sums, signature, keys.GPG, m.keysAt())
	if err != nil {
		return nil, err
	}
	if r.Signer == "" && !o.AllowUnsigned {
		return nil, &UntrustedError{v.String(), errors.New("it is not signed. If you trust the archive and its way to here, import it with --allow-unsigned")}
	}
	trusted, err := m.keys(ctx, v.Provider)
	if err != nil {
		return nil, err
	}
	if len(trusted.GPG) > 0 && m.isNewKey(trusted, r.Signer) && !o.AllowNewKeys {
		return nil, &UntrustedError{v.String(), fmt.Errorf("it is signed by %s, which is none of the keys that the mirror has for %s/%s. If the publisher announces that key, import the archive with --allow-new-keys", r.Signer, v.Host, v.Namespace)}
	}
	r.Protocols = release.DefaultProtocols
	known, err := m.load(ctx, v)
	if err != nil {
		return nil, err
	}
	if known != nil {
		if !bytes.Equal(known.SumsFile, sums) {
			return nil, &UntrustedError{v.String(), errors.New("the mirror has the release with other checksums. Remove that first if it is wrong:\n    yuba registry mirror remove " + v.String())}
		}
		return known.clone(), nil
	}
	return r, nil
}
