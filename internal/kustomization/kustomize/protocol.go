// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// maxFrame is what one message may have: a file of 8 MiB in base64 fits, and so does every object that an API takes.
const maxFrame = 16 << 20

// A build is a conversation over two pipes: "build this directory", then questions about files and their answers, then
// the objects one by one, and the end. Both sides are of one release and started together, so there is no version.

// message is one frame; one of its fields is set.
type message struct {
	// Dir asks for a build.
	Dir string `json:"dir,omitempty"`
	// Ask is a question about the tree, Answer what it is answered with.
	Ask    *question `json:"ask,omitempty"`
	Answer *answer   `json:"answer,omitempty"`
	// Object is one that was made.
	Object *made `json:"object,omitempty"`
	// End says that the build is over.
	End *end `json:"end,omitempty"`
}

// made is an object on its way; Object itself is written as the JSON that it holds.
type made Object

// question is a call of the file system.
type question struct {
	Call string `json:"call"`
	Path string `json:"path"`
}

// answer is what a call returns.
type answer struct {
	Yes   bool     `json:"yes,omitempty"`
	Data  []byte   `json:"data,omitempty"`
	Names []string `json:"names,omitempty"`
	Dir   string   `json:"dir,omitempty"`
	File  string   `json:"file,omitempty"`
	Error string   `json:"error,omitempty"`
	// Missing says that the error is that there is no such file.
	Missing bool `json:"missing,omitempty"`
}

type end struct {
	Error string `json:"error,omitempty"`
}

func send(w io.Writer, m message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(data) > maxFrame {
		return fmt.Errorf("a message of %d MiB is larger than messages may be", len(data)>>20)
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)) //nolint:gosec // bounded above
	return err
}

func receive(r io.Reader) (message, error) {
	var m message
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return m, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return m, fmt.Errorf("a message of %d MiB is larger than messages may be", n>>20)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return m, err
	}
	return m, json.Unmarshal(data, &m)
}
