// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
)

// unnamed creates a file that no other program can open, and that is gone with this process.
func unnamed(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, ".yuba-sealed-*") // 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// spool holds bytes on disk, encrypted with a key that is only in memory. Nobody can change them: the
// file has no name, so they are not authenticated.
type spool struct {
	file *os.File
	key  [32]byte
	size int64
}

// spooled reads r to its end.
func spooled(dir string, r io.Reader) (*spool, error) {
	file, err := unnamed(dir)
	if err != nil {
		return nil, fmt.Errorf("create a temporary file: %w", err)
	}
	s := &spool{file: file}
	rand.Read(s.key[:]) //nolint:errcheck // never fails, see its documentation
	if s.size, err = io.Copy(cipher.StreamWriter{S: s.stream(), W: file}, r); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// stream begins the key stream. The key is used once, so the counter may begin with zero.
func (s *spool) stream() cipher.Stream {
	block, err := aes.NewCipher(s.key[:])
	if err != nil {
		panic(fmt.Sprintf("make a cipher: %v. This is a bug in Yuba.", err))
	}
	return cipher.NewCTR(block, make([]byte, aes.BlockSize))
}

// reader reads the bytes from their beginning.
func (s *spool) reader() io.Reader {
	return cipher.StreamReader{S: s.stream(), R: io.NewSectionReader(s.file, 0, s.size)}
}

func (s *spool) close() error { return s.file.Close() }
