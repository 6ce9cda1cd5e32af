// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package subprocess

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// MaxMessage limits one message in bytes. A file of 8 MiB in base64 fits.
const MaxMessage = 16 << 20

// Send writes a message.
func Send(w io.Writer, message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(data) > MaxMessage {
		return fmt.Errorf("a message of %d MiB is larger than messages may be", len(data)>>20)
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)) //nolint:gosec // bounded above
	return err
}

// Receive reads a message into a value. It returns io.EOF if the other side closed the pipe.
func Receive(r io.Reader, into any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > MaxMessage {
		return fmt.Errorf("a message of %d MiB is larger than messages may be", n>>20)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
