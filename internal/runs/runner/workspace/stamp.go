// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Stamp changes with every change of a file, as no program can set a ctime.
type Stamp struct {
	inode        uint64
	Size         int64
	mtime, ctime int64
}

// StampFile returns the stamp of an open file.
func StampFile(file *os.File) (Stamp, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return Stamp{}, &os.PathError{Op: "fstat", Path: file.Name(), Err: err}
	}
	return Stamp{st.Ino, st.Size, unix.TimespecToNsec(st.Mtim), unix.TimespecToNsec(st.Ctim)}, nil
}

// DigestOfFile returns the digest of the rest of a file; empty if it cannot be read.
func DigestOfFile(file *os.File) string {
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return ""
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}
