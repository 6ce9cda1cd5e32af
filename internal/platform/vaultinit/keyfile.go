// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vaultinit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
)

const (
	fileKind   = "yuba-vault-keys"
	fileFormat = 1
	// reserved is more than the file ever has: 100 shares and a root token.
	reserved = 256 << 10
)

// File is the key file. Nothing in it is in clear text that is a secret.
type File struct {
	Kind    string    `json:"kind"`
	Format  int       `json:"format"`
	Phase   Phase     `json:"phase"`
	Address string    `json:"address"`
	Created time.Time `json:"created"`
	// Threshold is how many shares unseal.
	Threshold int     `json:"threshold,omitempty"`
	Shares    []Share `json:"shares,omitempty"`
	// RootToken is encrypted for all recipients, until it is revoked.
	RootToken string `json:"rootToken,omitempty"`
}

// Share is one share, for one recipient: age -d decrypts it.
type Share struct {
	Recipient string `json:"recipient"`
	Sealed    string `json:"sealed"`
}

// readFile reads a key file; a missing one has PhaseNone.
func readFile(path string) (File, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, nil
	}
	if err != nil {
		return File{}, fmt.Errorf("read the key file: %w", err)
	}
	var f File
	if err := json.Unmarshal(data, &f); err != nil || f.Kind != fileKind {
		return f, fmt.Errorf("read the key file %s: it is not one. Name another file", path)
	}
	if f.Format != fileFormat {
		return f, fmt.Errorf("read the key file %s: a newer Yuba wrote it (format %d)", path, f.Format)
	}
	return f, nil
}

// write writes the file over its own blocks, so that it needs no space on the disk.
func (f *File) write(path string) error {
	f.Kind, f.Format = fileKind, fileFormat
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	if text = append(text, '\n'); len(text) > reserved {
		return fmt.Errorf("write the key file %s: it is larger than %d bytes", path, reserved)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write the key file: %w", err)
	}
	// Padding of a text is white space for readers.
	padded := append(text, bytes.Repeat([]byte{' '}, reserved-len(text))...)
	_, err = file.WriteAt(padded, 0)
	if err = errors.Join(err, file.Sync()); err == nil {
		err = errors.Join(file.Truncate(int64(len(text))), file.Sync())
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write the key file %s: %w", path, err)
	}
	return nil
}

// reserve creates the file with its full size, and makes it durable, before Vault is asked.
func reserve(path string, f File) error {
	f.Phase, f.Kind, f.Format = PhaseReserved, fileKind, fileFormat
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("reserve the key file: %w", err)
	}
	_, err = file.Write(append(text, bytes.Repeat([]byte{' '}, reserved-len(text))...))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("reserve the key file %s: %w", path, err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// sealTo encrypts a secret as armored text.
func sealTo(secret string, to ...age.Recipient) (string, error) {
	var b bytes.Buffer
	a := armor.NewWriter(&b)
	w, err := age.Encrypt(a, to...)
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(w, secret)
	err = errors.Join(err, w.Close(), a.Close())
	return b.String(), err
}

// unseal decrypts a text; errors do not repeat it.
func unseal(sealed string, identities []age.Identity) (string, error) {
	r, err := age.Decrypt(armor.NewReader(strings.NewReader(sealed)), identities...)
	if err != nil {
		return "", err
	}
	secret, err := io.ReadAll(io.LimitReader(r, 64<<10))
	return string(secret), err
}

// open decrypts enough shares, and the root token.
func (f *File) open(identities []age.Identity) (answer initAnswer, ok bool) {
	if len(identities) == 0 {
		return answer, false
	}
	for _, share := range f.Shares {
		if key, err := unseal(share.Sealed, identities); err == nil {
			answer.Keys = append(answer.Keys, key)
		}
	}
	token, err := unseal(f.RootToken, identities)
	answer.RootToken = token
	return answer, err == nil && len(answer.Keys) >= f.Threshold
}

// text is the file's content for an emergency.
func (f *File) text() string {
	f.Kind, f.Format = fileKind, fileFormat
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("encode a key file: %v. This is a bug in Yuba.", err))
	}
	return string(text)
}
