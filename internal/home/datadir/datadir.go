// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Dir is an open data directory.
type Dir string

func (d Dir) path(elements ...string) string {
	return filepath.Join(append([]string{string(d)}, elements...)...)
}

// Keys holds certificates, private keys and encryption keys.
func (d Dir) Keys() string { return d.path("keys") }

// Etcd holds the objects of the API.
func (d Dir) Etcd() string { return d.path("etcd") }

// Blobs holds artifacts, logs, plans and state versions.
func (d Dir) Blobs() string { return d.path("blobs") }

// Bundle is where the bundle of "yuba up --bundle" is unpacked.
func (d Dir) Bundle() string { return d.path("bundle") }

// Work holds the working directories of the stacks.
func (d Dir) Work() string { return d.path("work") }

// Runner holds the files that the server and its runner share.
func (d Dir) Runner() string { return d.path("runner") }

// Providers is a filesystem mirror of providers.
func (d Dir) Providers() string { return d.path("providers") }

// ProviderStore holds downloaded providers, shared by all stacks. All of it can be downloaded
// again.
func (d Dir) ProviderStore() string { return d.path("provider-store") }

// Sources holds fetched sources: mirrors of repositories, and trees before they are stored as
// blobs. All of it can be fetched again.
func (d Dir) Sources() string { return d.path("sources") }

// Tools holds versions of tofu and terraform side by side.
func (d Dir) Tools() string { return d.path("tools") }

// Notifications holds notifications that are not sent yet.
func (d Dir) Notifications() string { return d.path("notifications") }

// Registry holds published modules and providers, and the mirror of others' providers.
func (d Dir) Registry() string { return d.path("registry") }

// RegistrySpool holds uploads to the registry, and downloads of its mirror, until they are complete.
func (d Dir) RegistrySpool() string { return d.path("registry-spool") }

// Kubeconfig is the administrator's kubeconfig.
func (d Dir) Kubeconfig() string { return d.path("kubeconfig") }

// Record is the record of the parts that belong together.
func (d Dir) Record() string { return d.path("home.json") }

// BlobKey is the age identity that decrypts every blob.
func (d Dir) BlobKey() string { return d.path("keys", "blob.agekey") }

// Open opens the data directory without locking it: it creates a missing one and makes it private.
// It refuses a directory that a newer Yuba wrote, or that has another purpose.
func Open(path string) (Dir, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find the data directory %s: %w", path, err)
	}
	d := Dir(absolute)
	if err := os.MkdirAll(absolute, 0o700); err != nil {
		return "", d.Unusable(fmt.Errorf("create the data directory: %w", err))
	}
	if err := d.checkFormat(); err != nil {
		return "", d.Unusable(err)
	}
	if err := os.Chmod(absolute, 0o700); err != nil {
		return "", d.Unusable(fmt.Errorf("make the data directory private: %w", err))
	}
	return d, nil
}

// WriteFile replaces the file at path atomically: readers see the old or the new content, also
// after a crash.
func WriteFile(path string, data []byte, mode os.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(data)
	if err == nil {
		err = temporary.Chmod(mode)
	}
	if err == nil {
		err = temporary.Sync()
	}
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes renames inside the directory survive a power cut.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}
