// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package own

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/release"
	"github.com/yuba-dev/yuba/internal/registry/uploads"
)

// Manifest is the name of the file that says which protocols a provider speaks. Its release has it
// also by the name terraform-provider-NAME_VERSION_manifest.json.
const Manifest = "terraform-registry-manifest.json"

const (
	maxUploadFiles = 200
	maxManifest    = 64 << 10
)

// upload is an upload on disk.
type upload struct {
	version layout.ProviderVersion
	dir     string
	place   *uploads.Upload
	// sums are those of the files that came, by name.
	sums map[string]string

	list       []byte
	signature  []byte
	listed     release.Sums
	packages   map[layout.Platform]release.Package
	protocols  []string
	signer     string
	signerKeys []release.Key
}

func (u *upload) path(name string) string { return filepath.Join(u.dir, name) }

func (u *upload) invalid(format string, args ...any) error {
	return &InvalidError{What: "publish " + u.version.String(), Reason: fmt.Sprintf(format, args...)}
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// manifestName reports whether a file is the version's manifest.
func (u *upload) manifestName(name string) bool {
	return name == Manifest || name == "terraform-provider-"+u.version.Name+"_"+u.version.Version+"_manifest.json"
}

// receive unpacks an upload, and refuses every file that no release of the version has.
func (u *upload) receive(from io.Reader, limit int64) error {
	budget := &io.LimitedReader{R: from, N: limit + 1}
	archive := tar.NewReader(budget)
	for {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			// What follows is padding, or the end that a client did not send.
			return nil
		case budget.N <= 0:
			return u.tooLarge(limit)
		case err != nil:
			return u.broken(err)
		}
		if err := u.accept(header); err != nil {
			return err
		}
		if err := u.save(archive, header.Name); err != nil {
			if budget.N <= 0 {
				return u.tooLarge(limit)
			}
			return err
		}
	}
}

func (u *upload) tooLarge(limit int64) error {
	return u.invalid("the upload has more than %d MiB", limit>>20)
}

// broken explains an upload that ended early: its client went away, or sends something else.
func (u *upload) broken(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return u.invalid("the upload ended early")
	}
	if errors.Is(err, tar.ErrHeader) {
		return u.invalid("the upload is not a tar archive")
	}
	return fmt.Errorf("publish %s: receive the upload: %w", u.version, err)
}

func (u *upload) accept(header *tar.Header) error {
	name := header.Name
	f, isFile := layout.ProviderOfKey(u.version.Key(name))
	known := isFile && f.ProviderVersion == u.version || u.manifestName(name)
	switch {
	case header.Typeflag != tar.TypeReg:
		return u.invalid("%q in the upload is not a regular file", shorten.Cut(name, 80))
	case strings.ContainsAny(name, `/\`) || !known:
		return &InvalidError{What: "publish " + u.version.String(), Reason: fmt.Sprintf("the upload has a file %q", shorten.Cut(name, 120)),
			Next: fmt.Sprintf("A release of this version has %s, %s, archives such as %s, and perhaps %s", u.version.Sums(), u.version.Signature(), u.version.Archive(layout.Platform{OS: "linux", Arch: "amd64"}), Manifest)}
	case u.sums[name] != "":
		return u.invalid("the upload has %s twice", name)
	case len(u.sums) >= maxUploadFiles:
		return u.invalid("the upload has more than %d files", maxUploadFiles)
	case header.Size > release.MaxArchive:
		return u.invalid("%s has more than %d GiB", name, release.MaxArchive>>30)
	}
	return nil
}

func (u *upload) save(from io.Reader, name string) error {
	file, err := os.OpenFile(u.path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return &offer.StoreError{What: "the upload of " + u.version.String(), Err: err}
	}
	hash := sha256.New()
	_, err = io.Copy(u.place.Writer(io.MultiWriter(file, hash)), from)
	if err := errors.Join(err, file.Close()); err != nil {
		var local *fs.PathError
		if errors.As(err, &local) {
			return &offer.StoreError{What: "the upload of " + u.version.String(), Err: err}
		}
		return u.broken(err)
	}
	u.sums[name] = hex.EncodeToString(hash.Sum(nil))
	return nil
}

// read returns a small file of the upload; nil if it has none of the name.
func (u *upload) read(name string, limit int64) ([]byte, error) {
	if u.sums[name] == "" {
		return nil, nil
	}
	file, err := os.Open(u.path(name))
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		return nil, u.invalid("%s has more than %d KiB", name, limit>>10)
	}
	return text, err
}

// check compares names, sums and content. It does not look at the signature.
func (u *upload) check() (err error) {
	if u.list, err = u.read(u.version.Sums(), release.MaxSums); err != nil {
		return err
	}
	if u.signature, err = u.read(u.version.Signature(), maxSignature); err != nil {
		return err
	}
	if u.list == nil {
		return u.invalid("%s is missing", u.version.Sums())
	}
	if u.signature == nil {
		return &InvalidError{What: "publish " + u.version.String(), Reason: u.version.Signature() + " is missing",
			Next: fmt.Sprintf("Sign the list of checksums with one of the namespace's keys:\n    gpg --detach-sign %s", u.version.Sums())}
	}
	if u.listed, err = release.ParseSums(u.list); err != nil {
		return u.invalid("%v", err)
	}
	u.packages = u.listed.Packages(u.version)
	if err := u.compare(); err != nil {
		return err
	}
	if err := u.readManifest(); err != nil {
		return err
	}
	for platform := range u.packages {
		if err := u.inspect(platform); err != nil {
			return err
		}
	}
	return nil
}

// compare compares the files that came with the list.
func (u *upload) compare() error {
	if len(u.packages) == 0 {
		return u.invalid("%s does not list an archive of this version", u.version.Sums())
	}
	for platform := range u.packages {
		if name := u.version.Archive(platform); u.sums[name] == "" {
			return u.invalid("%s lists %s, which is missing in the upload", u.version.Sums(), name)
		}
	}
	for name, sum := range u.sums {
		want, listed := u.listed[name]
		switch {
		case name == u.version.Sums() || name == u.version.Signature():
		case !listed && !u.manifestName(name):
			return u.invalid("%s is not listed in %s", name, u.version.Sums())
		case listed && want != sum:
			return u.invalid("%s has the SHA-256 sum %s, but %s has %s", name, sum, u.version.Sums(), want)
		}
	}
	return nil
}

var plainProtocol = regexp.MustCompile(`^[0-9]{1,3}\.[0-9]{1,3}$`)

// readManifest finds the protocols that the provider speaks.
func (u *upload) readManifest() error {
	u.protocols = release.DefaultProtocols
	for name := range u.sums {
		if !u.manifestName(name) {
			continue
		}
		text, err := u.read(name, maxManifest)
		if err != nil {
			return err
		}
		var manifest struct {
			Version  int `json:"version"`
			Metadata struct {
				Protocols []string `json:"protocol_versions"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(text, &manifest); err != nil {
			return u.invalid("%s is not JSON as registries expect it: %v", name, err)
		}
		protocols := manifest.Metadata.Protocols
		if manifest.Version != 1 || len(protocols) == 0 || len(protocols) > 16 || slices.ContainsFunc(protocols, func(p string) bool { return !plainProtocol.MatchString(p) }) {
			return u.invalid(`%s does not have the form {"version": 1, "metadata": {"protocol_versions": ["6.0"]}}`, name)
		}
		u.protocols = protocols
	}
	return nil
}

// inspect reads the content of an archive.
func (u *upload) inspect(platform layout.Platform) error {
	name := u.version.Archive(platform)
	file, err := os.Open(u.path(name))
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	h1, err := release.ContentHash(file, info.Size())
	if err != nil {
		return u.invalid("%s: %v", name, err)
	}
	if err := release.HasProgram(file, info.Size(), u.version.Name); err != nil {
		return u.invalid("%s: %v", name, err)
	}
	u.packages[platform] = release.Package{Hashes: []string{h1, "zh:" + u.sums[name]}, Size: info.Size()}
	return nil
}
