// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/etcdserver/api/snap"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
)

// changes describes the content of the write-ahead log (WAL).
type changes struct {
	dir   string
	files []string
	// cluster identifies the store.
	cluster uint64
	// snapshots are the committed ones in the log, oldest first.
	snapshots []walpb.Snapshot
	// first and last are the indices of its entries; 0 if there are none.
	first, last uint64
	// used is the offset of the next entry in the last file. torn says that a write there was
	// interrupted by a crash of the machine.
	used int64
	torn bool
}

var logName = regexp.MustCompile(`^([0-9a-f]{16})-[0-9a-f]{16}\.wal$`)

// readChanges reads the whole log, as etcd does when it starts, and changes nothing. full requires
// that its last file has its full length.
func readChanges(dir string, full bool) (*changes, error) {
	c := &changes{dir: dir}
	if err := c.list(); err != nil {
		return nil, err
	}
	readers := make([]fileutil.FileReader, len(c.files))
	for i, name := range c.files {
		file, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("read the store's log: %w", err)
		}
		defer file.Close()
		readers[i] = fileutil.NewFileReader(file)
	}
	if full {
		if err := c.checkLength(); err != nil {
			return nil, err
		}
	}
	return c, c.read(wal.NewDecoder(readers...))
}

func (c *changes) list() error {
	entries, err := os.ReadDir(c.dir)
	if errors.Is(err, os.ErrNotExist) {
		return &DamageError{Problem: "member/wal is missing"}
	}
	if err != nil {
		return fmt.Errorf("read the store's log: %w", err)
	}
	var next uint64
	for _, entry := range entries {
		match := logName.FindStringSubmatch(entry.Name())
		if match == nil {
			continue
		}
		number, err := strconv.ParseUint(match[1], 16, 64)
		if err != nil {
			return fmt.Errorf("read the store's log: %w", err)
		}
		if len(c.files) > 0 && number != next {
			return damaged("member/wal lacks the file before %s", entry.Name())
		}
		c.files, next = append(c.files, entry.Name()), number+1
	}
	if len(c.files) == 0 {
		return damaged("member/wal is empty")
	}
	return nil
}

// checkLength finds truncation: the last file has its full length from its creation.
func (c *changes) checkLength() error {
	last := c.files[len(c.files)-1]
	info, err := os.Stat(filepath.Join(c.dir, last))
	if err != nil {
		return fmt.Errorf("read the store's log: %w", err)
	}
	if info.Size() < wal.SegmentSizeBytes {
		return damaged("member/wal/%s is truncated: it has %d bytes of %d", last, info.Size(), wal.SegmentSizeBytes)
	}
	return nil
}

func (c *changes) read(decoder wal.Decoder) error {
	var snapshots []walpb.Snapshot
	var state raftpb.HardState
	rec := &walpb.Record{}
	for {
		err := decoder.Decode(rec)
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			c.torn = true
			break
		}
		if err == nil {
			err = c.take(rec, decoder, &snapshots, &state)
		}
		if err != nil {
			return damaged("member/wal is damaged: %v", err)
		}
	}
	c.used = decoder.LastOffset()
	for _, s := range snapshots {
		if s.Index <= state.Commit {
			c.snapshots = append(c.snapshots, s)
		}
	}
	if c.cluster == 0 {
		return damaged("member/wal/%s has no beginning", c.files[0])
	}
	return nil
}

// take processes one record.
func (c *changes) take(rec *walpb.Record, decoder wal.Decoder, snapshots *[]walpb.Snapshot, state *raftpb.HardState) error {
	switch rec.Type {
	case wal.MetadataType:
		var metadata etcdserverpb.Metadata
		if err := metadata.Unmarshal(rec.Data); err != nil {
			return err
		}
		if c.cluster != 0 && c.cluster != metadata.ClusterID {
			return errors.New("its files belong to different stores")
		}
		c.cluster = metadata.ClusterID
	case wal.CrcType:
		if sum := decoder.LastCRC(); sum != 0 && rec.Validate(sum) != nil {
			return errors.New("one of its files does not continue the previous one")
		}
		decoder.UpdateCRC(rec.Crc)
	case wal.SnapshotType:
		var s walpb.Snapshot
		if err := s.Unmarshal(rec.Data); err != nil {
			return err
		}
		*snapshots = append(*snapshots, s)
	case wal.StateType:
		return state.Unmarshal(rec.Data)
	case wal.EntryType:
		var e raftpb.Entry
		if err := e.Unmarshal(rec.Data); err != nil {
			return err
		}
		if c.last != 0 && e.Index > c.last+1 {
			return fmt.Errorf("the changes %d to %d are missing", c.last+1, e.Index-1)
		}
		c.first, c.last = cmp.Or(c.first, e.Index), e.Index
	default:
		return fmt.Errorf("a record has the unknown kind %d", rec.Type)
	}
	return nil
}

// lengthen extends the log's last file to its full length. An older Yuba let etcd truncate it; from
// now on a short file means damage.
func lengthen(dir string) error {
	found, err := filepath.Glob(filepath.Join(dir, memberDir, "wal", "*.wal"))
	if err != nil || len(found) == 0 {
		return err
	}
	last := found[len(found)-1]
	info, err := os.Stat(last)
	if err == nil && info.Size() < wal.SegmentSizeBytes {
		err = os.Truncate(last, wal.SegmentSizeBytes)
	}
	if err != nil {
		return fmt.Errorf("lengthen the store's log: %w", err)
	}
	return nil
}

// base returns the snapshot from which the log continues. Its file must exist and be intact.
func (c *changes) base() (walpb.Snapshot, error) {
	if len(c.snapshots) == 0 {
		return walpb.Snapshot{}, damaged("member/wal has no committed beginning")
	}
	newest := c.snapshots[len(c.snapshots)-1]
	if newest.Index > 0 {
		name := fmt.Sprintf("%016x-%016x.snap", newest.Term, newest.Index)
		if _, err := snap.Read(zap.NewNop(), filepath.Join(filepath.Dir(c.dir), "snap", name)); errors.Is(err, os.ErrNotExist) {
			return newest, damaged("member/snap/%s is missing", name)
		} else if err != nil {
			return newest, damaged("member/snap/%s is damaged: %v", name, err)
		}
	}
	if c.first > newest.Index+1 {
		return newest, damaged("member/wal lacks the changes %d to %d", newest.Index+1, c.first-1)
	}
	c.last = max(c.last, newest.Index)
	return newest, nil
}

// mend clears an entry whose writing a crash of the machine interrupted: it was never acknowledged.
// etcd would truncate the file instead, and then damage could not be told from that.
func (c *changes) mend() error {
	if !c.torn {
		return nil
	}
	if err := clearFrom(filepath.Join(c.dir, c.files[len(c.files)-1]), c.used); err != nil {
		return fmt.Errorf("repair the store's log: %w", err)
	}
	return nil
}

// clearFrom fills the rest of a file with zeros.
func clearFrom(path string, at int64) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	zeros := make([]byte, 1<<20)
	for ; at < info.Size(); at += int64(len(zeros)) {
		if _, err := file.WriteAt(zeros[:min(int64(len(zeros)), info.Size()-at)], at); err != nil {
			return err
		}
	}
	return file.Sync()
}
