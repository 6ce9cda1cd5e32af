// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/home/datadir"
)

// maxDescription limits members that are read into memory: a manifest of a million blobs.
const maxDescription = 256 << 20

// ErrPending means that another staged archive waits for the next start.
var ErrPending = errors.New("another restore waits for the next start")

// Stage reads and verifies an archive and stages it in the data directory for ApplyPending. It
// changes nothing that is in use.
func Stage(dir datadir.Dir, from io.Reader) (Origin, error) {
	return stage(dir, from, datadir.SyncDir)
}

func stage(dir datadir.Dir, from io.Reader, syncDir func(path string) error) (Origin, error) {
	if _, err := os.Stat(pending(dir)); err == nil {
		return Origin{}, fmt.Errorf("restore the backup: %w. Restart Yuba first", ErrPending)
	}
	staging, err := os.MkdirTemp(string(dir), stagingPrefix)
	if err != nil {
		return Origin{}, fmt.Errorf("restore the backup: %w", err)
	}
	defer os.RemoveAll(staging)
	origin, err := extract(staging, from)
	if err == nil {
		// The restored keys cannot open the current blobs, so these must go even if the archive has
		// none.
		err = os.MkdirAll(filepath.Join(staging, blobsName), 0o700)
	}
	if err == nil {
		err = syncTree(staging)
	}
	if err == nil {
		err = os.Rename(staging, pending(dir))
	}
	if err != nil {
		return Origin{}, fmt.Errorf("restore the backup: %w. Nothing was changed", err)
	}
	if err := syncDir(string(dir)); err != nil {
		// A restore that was reported as failed must not happen at the next start.
		if back := os.Rename(pending(dir), staging); back != nil {
			return Origin{}, fmt.Errorf("restore the backup: %w. The next start will restore it nevertheless: %w. To prevent that, delete %s",
				err, back, pending(dir))
		}
		return Origin{}, fmt.Errorf("restore the backup: %w. Nothing was changed", err)
	}
	return origin, nil
}

// extract writes the archive's members below root and verifies them against its manifest.
func extract(root string, from io.Reader) (Origin, error) {
	archive := tar.NewReader(from)
	origin, first, err := readHeader(archive)
	if err != nil {
		return Origin{}, err
	}
	found := []member{first}
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return Origin{}, errors.New("the archive is truncated: it has no manifest")
		}
		if err != nil {
			return Origin{}, fmt.Errorf("the archive is damaged: %w", err)
		}
		if head.Name == manifestName {
			return origin, checkManifest(archive, found)
		}
		got, err := extractMember(root, head, archive)
		if err != nil {
			return Origin{}, err
		}
		found = append(found, got)
	}
}

func readHeader(archive *tar.Reader) (Origin, member, error) {
	head, err := archive.Next()
	if err != nil || head.Name != headerName {
		return Origin{}, member{}, errors.New("this is not a backup of Yuba")
	}
	data, err := io.ReadAll(io.LimitReader(archive, 1<<20))
	if err != nil {
		return Origin{}, member{}, fmt.Errorf("the archive is damaged: %w", err)
	}
	var h header
	if err := json.Unmarshal(data, &h); err != nil {
		return Origin{}, member{}, fmt.Errorf("the archive is damaged: read %s: %w", headerName, err)
	}
	if h.Format > Format || h.DataFormat > datadir.Format {
		return Origin{}, member{}, &datadir.NewerFormatError{What: "the backup", Found: max(h.Format, h.DataFormat)}
	}
	sum := sha256.Sum256(data)
	return h.Origin, member{Name: headerName, Size: int64(len(data)), SHA256: fmt.Sprintf("%x", sum)}, nil
}

// extractMember writes one member. It accepts only the names that Write uses.
func extractMember(root string, head *tar.Header, content io.Reader) (member, error) {
	top, _, nested := strings.Cut(head.Name, "/")
	known := head.Name == snapshotName || nested && (top == keysName || top == blobsName || top == registryName)
	if !known || head.Typeflag != tar.TypeReg || !filepath.IsLocal(filepath.FromSlash(head.Name)) {
		return member{}, fmt.Errorf("the archive contains %q, which is not part of a backup", head.Name)
	}
	path := filepath.Join(root, filepath.FromSlash(head.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return member{}, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return member{}, err
	}
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(file, sum), content)
	err = errors.Join(err, file.Close())
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return member{}, fmt.Errorf("the archive is truncated in %s", head.Name)
	}
	if err != nil {
		return member{}, fmt.Errorf("extract %s: %w", head.Name, err)
	}
	return member{Name: head.Name, Size: size, SHA256: hexOf(sum)}, nil
}

func checkManifest(archive io.Reader, found []member) error {
	var listed manifest
	if err := json.NewDecoder(io.LimitReader(archive, maxDescription)).Decode(&listed); err != nil {
		return fmt.Errorf("the archive is damaged: read %s: %w", manifestName, err)
	}
	for i, want := range listed.Members {
		if i >= len(found) || found[i] != want {
			return fmt.Errorf("the archive is damaged: %s does not match the manifest", want.Name)
		}
	}
	if len(found) > len(listed.Members) {
		return fmt.Errorf("the archive is damaged: the manifest does not list %s", found[len(listed.Members)].Name)
	}
	if !slices.ContainsFunc(found, func(m member) bool { return m.Name == snapshotName }) {
		return fmt.Errorf("the archive is damaged: it has no %s", snapshotName)
	}
	return nil
}

// syncTree makes everything below root durable before the rename that puts it into effect.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return datadir.SyncDir(path)
	})
}
