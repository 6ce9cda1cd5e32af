// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
)

// revisionBump is added to the revision of a restored store, and exceeds the changes since a
// backup: clients that saw the newer store must not mistake new revisions for known ones.
const revisionBump = 1_000_000_000

// Snapshot is a consistent view of the store, in etcd's snapshot format.
type Snapshot struct {
	source interface {
		Size() int64
		WriteTo(io.Writer) (int64, error)
		Close() error
	}
}

// Snapshot takes a snapshot. The caller closes it.
func (s *Server) Snapshot() *Snapshot {
	return &Snapshot{source: s.member.Server.Backend().Snapshot()}
}

// Size is the number of bytes that WriteTo writes.
func (s *Snapshot) Size() int64 { return s.source.Size() + sha256.Size }

// WriteTo writes the snapshot and the checksum that etcd's tools expect at its end.
func (s *Snapshot) WriteTo(w io.Writer) (int64, error) {
	sum := sha256.New()
	written, err := s.source.WriteTo(io.MultiWriter(w, sum))
	if err != nil {
		return written, fmt.Errorf("write a snapshot of the API's store: %w", err)
	}
	more, err := w.Write(sum.Sum(nil))
	if err != nil {
		return written + int64(more), fmt.Errorf("write a snapshot of the API's store: %w", err)
	}
	return written + int64(more), nil
}

// Close releases the snapshot.
func (s *Snapshot) Close() error { return s.source.Close() }

// Restore creates the data directory dir, which must not exist, from a snapshot file. The token is
// as in Options.
func Restore(file, dir, token string, log *slog.Logger) error {
	return restore(file, dir, token, false, log)
}

func restore(file, dir, token string, withoutSum bool, log *slog.Logger) error {
	err := snapshot.NewV3(zapTo(log)).Restore(snapshot.RestoreConfig{
		SnapshotPath:        file,
		Name:                memberName,
		OutputDataDir:       dir,
		PeerURLs:            []string{peerURL},
		InitialCluster:      memberName + "=" + peerURL,
		InitialClusterToken: cmp.Or(token, defaultToken),
		SkipHashCheck:       withoutSum,
		RevisionBump:        revisionBump,
		MarkCompacted:       true,
	})
	if err != nil {
		return fmt.Errorf("restore the API's store from %s: %w", file, err)
	}
	return nil
}
