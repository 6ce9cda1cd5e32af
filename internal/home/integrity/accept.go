// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/yuba-dev/yuba/internal/home/backup"
	"github.com/yuba-dev/yuba/internal/home/datadir"
)

// asideStamp names the directory for the parts that were given up.
const asideStamp = "before-accepted-loss-20060102T150405Z"

// Accept gives up the lost parts of a home, if the user accepted that loss, and returns when the
// home may be started. It moves the remains aside. Nothing may use the directory meanwhile.
func Accept(dir datadir.Dir, blobsHere bool, losses []Loss, log *slog.Logger) error {
	aside := time.Now().UTC().Format(asideStamp)
	// Each loss is given up once; Check reports a problem that comes back.
	for range losses {
		f, err := gather(dir, blobsHere)
		if err != nil {
			return fmt.Errorf("check %s: %w", dir, err)
		}
		p := decide(f)
		if p == nil || !slices.Contains(losses, p.lost) {
			return nil
		}
		if err := giveUp(dir, p.lost, f, aside, log); err != nil {
			return fmt.Errorf("give up the %s of %s: %w", p.lost, dir, err)
		}
		log.Warn("gave up a lost part of the data directory because of --accept-loss; remove that flag now",
			"loss", string(p.lost), "why", p.text, "kept", filepath.Join(string(dir), aside))
	}
	return nil
}

func giveUp(dir datadir.Dir, lost Loss, f facts, aside string, log *slog.Logger) error {
	if lost == LossLastChanges {
		return backup.Rebuild(dir, aside, log)
	}
	// First forget the lost part in the record, then move it. If that is interrupted, the next
	// start refuses again.
	r := Record{Keys: f.keys, Blobs: blobsRecorded(f)}
	if f.record != nil {
		r.Store, r.Keys = f.record.Store, f.record.Keys
	} else {
		r.Store = f.store.Cluster
	}
	var parts []string
	switch lost {
	case LossObjects:
		r.Store, parts = "", []string{"etcd"}
		if f.keys[secretsKey] == "" || f.secrets != nil {
			parts = append(parts, filepath.Join("keys", secretsKey))
			delete(r.Keys, secretsKey)
		}
	case LossBlobs:
		r.Blobs, parts = false, []string{"blobs"}
		if f.keys[blobsKey] == "" || f.unfit != nil {
			parts = append(parts, filepath.Join("keys", blobsKey))
			delete(r.Keys, blobsKey)
		}
	case LossCredentials:
		for _, name := range []string{authorityCertificate, authorityKey, tokenKey} {
			parts = append(parts, filepath.Join("keys", name))
			delete(r.Keys, name)
		}
	}
	if err := write(dir, &r); err != nil {
		return err
	}
	for _, part := range parts {
		if err := setAside(dir, aside, part); err != nil {
			return err
		}
	}
	return nil
}

func blobsRecorded(f facts) bool { return f.record != nil && f.record.Blobs }

func setAside(dir datadir.Dir, aside, part string) error {
	from, to := filepath.Join(string(dir), part), filepath.Join(string(dir), aside, part)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	switch err := os.Rename(from, to); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return datadir.SyncDir(filepath.Dir(from))
}
