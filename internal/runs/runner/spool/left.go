// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// Left is a state below DIR/orphans: found in the working directory, or taken by no server.
type Left struct {
	File    string `json:"-"`
	Lineage string `json:"lineage"`
	Serial  uint64 `json:"serial"`
}

// ReadLeft reads lineage and serial, to compare a state with others.
func ReadLeft(file string, state []byte) Left {
	l := Left{File: file}
	_ = json.Unmarshal(state, &l) // both are plain in encrypted states, too
	return l
}

// KeepFile writes a new file and syncs it.
func KeepFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

// SerialOf returns the serial of a state, encrypted or not.
func SerialOf(state []byte) uint64 {
	var header struct {
		Serial uint64 `json:"serial"`
	}
	_ = json.Unmarshal(state, &header) // without one it is zero
	return header.Serial
}
