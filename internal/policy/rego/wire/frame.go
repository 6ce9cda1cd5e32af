// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

const (
	// MaxHeader limits the header of a frame, in bytes. Bundles are in it.
	MaxHeader = 32 << 20
	// MaxPart limits one part, in bytes, and maxParts their number.
	MaxPart  = 256 << 20
	maxParts = 64
)

// Send writes a frame.
func Send(w io.Writer, header any, parts ...[]byte) error {
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	if len(text) > MaxHeader {
		return fmt.Errorf("a message of %d MiB: at most %d are allowed", len(text)>>20, MaxHeader>>20)
	}
	if len(parts) > maxParts {
		return fmt.Errorf("a message of %d parts: at most %d are allowed", len(parts), maxParts)
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(text))) //nolint:gosec // bounded above
	head = binary.BigEndian.AppendUint32(head, uint32(len(parts)))
	for _, part := range parts {
		if len(part) > MaxPart {
			return fmt.Errorf("an input of %d MiB: at most %d are allowed", len(part)>>20, MaxPart>>20)
		}
		head = binary.BigEndian.AppendUint32(head, uint32(len(part))) //nolint:gosec // bounded above
	}
	for _, data := range append([][]byte{append(head, text...)}, parts...) {
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// Receive reads a frame without parts: a server does not trust the size of what yuba-policy sends. It
// returns io.EOF if the other side closed the pipe between two frames.
func Receive(r io.Reader, header any) error {
	_, err := receive(r, header, 0)
	return err
}

// ReceiveParts reads a frame with parts.
func ReceiveParts(r io.Reader, header any) (parts [][]byte, err error) {
	return receive(r, header, maxParts)
}

func receive(r io.Reader, header any, most uint32) (parts [][]byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size, count := binary.BigEndian.Uint32(head[:4]), binary.BigEndian.Uint32(head[4:])
	if size > MaxHeader || count > most {
		return nil, fmt.Errorf("a message of %d MiB and %d parts is too large", size>>20, count)
	}
	sizes := make([]byte, 4*count)
	if err := full(r, sizes); err != nil {
		return nil, err
	}
	text := make([]byte, size)
	if err := full(r, text); err != nil {
		return nil, err
	}
	for i := range count {
		size := binary.BigEndian.Uint32(sizes[4*i:])
		if size > MaxPart {
			return nil, fmt.Errorf("a part of %d MiB is too large", size>>20)
		}
		part := make([]byte, size)
		if err := full(r, part); err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, json.Unmarshal(text, header)
}

// full reads what must be there.
func full(r io.Reader, into []byte) error {
	_, err := io.ReadFull(r, into)
	if err == io.EOF && len(into) > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}
