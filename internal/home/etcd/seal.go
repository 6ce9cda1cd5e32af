// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/yuba-dev/yuba/internal/home/datadir"
)

// sealName is a file beside the member's directory. It exists while the member is cleanly stopped.
const sealName = "stopped.json"

// seal holds the lengths and checksums of the files when the member stopped. With it, a start
// detects every changed bit, also where the store has no checksums, and need not parse the files.
type seal struct {
	Cluster string           `json:"cluster"`
	Files   map[string]piece `json:"files"`
	// Transaction is the number of transactions committed to the database.
	Transaction uint64 `json:"transaction"`
}

// piece is the used beginning of a file. Logs are longer and filled with zeros.
type piece struct {
	Bytes int64  `json:"bytes"`
	Sum   string `json:"crc32c"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var sealed = regexp.MustCompile(`^[0-9a-f]{16}-[0-9a-f]{16}\.(wal|snap)$|^db$`)

// sealedFiles returns the paths of a member's files below the store's directory.
func sealedFiles(dir string) ([]string, error) {
	var files []string
	for _, sub := range []string{"snap", "wal"} {
		entries, err := os.ReadDir(filepath.Join(dir, memberDir, sub))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("list the store's files: %w", err)
		}
		for _, entry := range entries {
			if sealed.MatchString(entry.Name()) {
				files = append(files, filepath.ToSlash(filepath.Join(memberDir, sub, entry.Name())))
			}
		}
	}
	return files, nil
}

// writeSeal records the files of a member that has just stopped.
func writeSeal(dir string) error {
	log, err := readChanges(filepath.Join(dir, memberDir, "wal"), false)
	if err != nil {
		return err
	}
	if log.torn {
		return nil // it did not stop cleanly
	}
	// A deleted file must not reappear after a power cut: the seal does not list it.
	for _, sub := range []string{"snap", "wal"} {
		if err := datadir.SyncDir(filepath.Join(dir, memberDir, sub)); err != nil {
			return err
		}
	}
	files, err := sealedFiles(dir)
	if err != nil {
		return err
	}
	s := seal{Cluster: strconv.FormatUint(log.cluster, 16), Files: map[string]piece{}}
	for _, name := range files {
		length := int64(-1)
		if filepath.Base(name) == log.files[len(log.files)-1] {
			length = log.used
		}
		if s.Files[name], err = measure(filepath.Join(dir, name), length); err != nil {
			return err
		}
	}
	if s.Transaction, err = lastTransaction(dir); err != nil {
		return err
	}
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("seal the store: %w", err)
	}
	return datadir.WriteFile(filepath.Join(dir, sealName), append(data, '\n'), 0o600)
}

// measure reads length bytes of a file, or all if length is negative.
func measure(path string, length int64) (piece, error) {
	file, err := os.Open(path)
	if err != nil {
		return piece{}, fmt.Errorf("read the store: %w", err)
	}
	defer file.Close()
	if length < 0 {
		info, err := file.Stat()
		if err != nil {
			return piece{}, fmt.Errorf("read the store: %w", err)
		}
		length = info.Size()
	}
	sum := crc32.New(castagnoli)
	read, err := io.CopyBuffer(onlyWriter{sum}, io.LimitReader(file, length), make([]byte, 1<<20))
	if err != nil {
		return piece{}, fmt.Errorf("read the store: %w", err)
	}
	return piece{Bytes: read, Sum: fmt.Sprintf("%08x", sum.Sum32())}, nil
}

// endsAt reports whether only zeros follow, for the length of an entry's header.
func endsAt(path string, length int64) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("read the store: %w", err)
	}
	defer file.Close()
	var head [8]byte
	n, err := file.ReadAt(head[:], length)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the store: %w", err)
	}
	return filepath.Ext(path) == ".wal" && head == [8]byte{} || n == 0, nil
}

type onlyWriter struct{ io.Writer }

// readSeal returns nil if there is no seal: the member did not stop cleanly, or an older Yuba
// stopped it.
func readSeal(dir string) (*seal, error) {
	data, err := os.ReadFile(filepath.Join(dir, sealName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the store's seal: %w", err)
	}
	s := &seal{}
	if json.Unmarshal(data, s) != nil || len(s.Files) == 0 {
		return nil, nil // damaged: check the store as after a crash
	}
	return s, nil
}

func lastTransaction(dir string) (uint64, error) {
	d, end, err := openDatabase(filepath.Join(dir, databaseName))
	if err != nil {
		return 0, err
	}
	defer end()
	return d.transaction, nil
}

// isStale reports whether something was committed since. An older Yuba, which knows no seals, may
// have run.
func (s *seal) isStale(dir string) bool {
	last, err := lastTransaction(dir)
	return err == nil && last > s.Transaction
}

// check compares the files with the seal.
func (s *seal) check(dir string) error {
	there, err := sealedFiles(dir)
	if err != nil {
		return err
	}
	for _, name := range there {
		if _, ok := s.Files[name]; !ok {
			return s.damaged(dir, "%s did not exist when Yuba stopped", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if err := s.checkFile(dir, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *seal) checkFile(dir, name string) error {
	want := s.Files[name]
	path := filepath.Join(dir, name)
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return s.damaged(dir, "%s is missing", name)
	}
	if err != nil {
		return fmt.Errorf("read the store: %w", err)
	}
	if info.Size() < want.Bytes {
		return s.damaged(dir, "%s is truncated: it has %d bytes, and had %d when Yuba stopped", name, info.Size(), want.Bytes)
	}
	got, err := measure(path, want.Bytes)
	if err != nil {
		return err
	}
	clean, err := endsAt(path, want.Bytes)
	if err != nil {
		return err
	}
	if got != want || !clean {
		return s.damaged(dir, "%s has changed since Yuba stopped", name)
	}
	return nil
}

const databaseName = memberDir + "/snap/db"

// damaged also finds out whether the database is unchanged, so that a store can be rebuilt from it.
func (s *seal) damaged(dir, format string, args ...any) error {
	err := damaged(format, args...)
	if got, measured := measure(filepath.Join(dir, databaseName), -1); measured == nil {
		err.DatabaseIsWhole = got == s.Files[databaseName]
	}
	return err
}

// unseal records that the files change from now on.
func unseal(options Options) error {
	err := os.Remove(filepath.Join(options.Dir, sealName))
	if err == nil {
		err = datadir.SyncDir(options.Dir)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("open the store's seal: %w", err)
	}
	if options.Facts.log != nil {
		if err := options.Facts.log.mend(); err != nil {
			return err
		}
	}
	return lengthen(options.Dir)
}
