// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// ManifestName is the name of the last member.
const ManifestName = "manifest.json"

// ChunkSize is the size of an entry. Most members are smaller.
const ChunkSize = 1 << 20

// Member describes a member in the manifest.
type Member struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Manifest is the last member.
type Manifest struct {
	Members []Member `json:"members"`
	// Damaged are contents that could not be read, and are missing.
	Damaged []string `json:"damaged,omitempty"`
	// Next is set in a part of a longer content: the next part begins after it.
	Next string `json:"next,omitempty"`
}

// Writer writes an archive.
type Writer struct {
	Manifest Manifest
	ctx      context.Context
	tar      *tar.Writer
	now      time.Time
}

// NewWriter begins an archive. now is the time in all entries.
func NewWriter(ctx context.Context, w io.Writer, now time.Time) *Writer {
	return &Writer{ctx: ctx, tar: tar.NewWriter(w), now: now}
}

// Close writes the manifest, and ends the archive.
func (w *Writer) Close() error {
	data, err := json.Marshal(w.Manifest)
	if err != nil {
		return err
	}
	if _, err := w.entries(ManifestName, bytes.NewReader(data)); err != nil {
		return err
	}
	return w.tar.Close()
}

// AddJSON adds a document.
func (w *Writer) AddJSON(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.Add(name, bytes.NewReader(data))
}

// Add adds a member. After an error, the archive is unusable.
func (w *Writer) Add(name string, r io.Reader) error {
	member, err := w.entries(name, r)
	if err == nil {
		w.Manifest.Members = append(w.Manifest.Members, member)
	}
	return err
}

func (w *Writer) entries(name string, r io.Reader) (Member, error) {
	sum, buffer, member := sha256.New(), make([]byte, ChunkSize), Member{Name: name}
	for first := true; ; first = false {
		if w.ctx.Err() != nil {
			return member, context.Cause(w.ctx)
		}
		n, err := io.ReadFull(r, buffer)
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return member, err
		}
		if n > 0 || first {
			if err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(n), Mode: 0o600, ModTime: w.now}); err != nil {
				return member, err
			}
			if _, err := w.tar.Write(buffer[:n]); err != nil {
				return member, err
			}
			sum.Write(buffer[:n]) //nolint:errcheck // a hash takes everything
			member.Size += int64(n)
		}
		if last {
			member.SHA256 = hex.EncodeToString(sum.Sum(nil))
			return member, nil
		}
	}
}
