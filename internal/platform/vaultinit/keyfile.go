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
	Kind    string `json:"kind"`
	Format  int    `json:"format"`
	Phase   Phase  `json:"phase"`
	Address string `json:"address"`
	// Members are the addresses of its further servers.
	Members []string  `json:"members,omitempty"`
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

// encode is the file's content.
func (f *File) encode(path string) ([]byte, error) {
	f.Kind, f.Format = fileKind, fileFormat
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, err
	}
	if text = append(text, '\n'); len(text) > reserved {
		return nil, fmt.Errorf("write the key file %s: it is larger than %d bytes", path, reserved)
	}
	return text, nil
}

// fill writes the file over the blocks of its reservation, so that it needs no space on the disk. A reservation has
// nothing to lose.
func (f *File) fill(path string) error {
	text, err := f.encode(path)
	if err != nil {
		return err
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

// replace writes a file that has keys: the old or the new content is there at any moment, whatever fails.
func (f *File) replace(path string) error {
	text, err := f.encode(path)
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write the key file: %w", err)
	}
	_, err = temporary.Write(text)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the key file %s, which is unchanged: %w", path, errors.Join(err, os.Remove(temporary.Name())))
	}
	return synced(filepath.Dir(path))
}

func synced(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// reserve creates the file with its full size, and makes it durable, before Vault is asked. Only an older
// reservation may be there: a file that appeared after the phase was read is
// not touched.
func reserve(path string, was Phase, f File) error {
	f.Phase, f.Kind, f.Format = PhaseReserved, fileKind, fileFormat
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	flags := os.O_WRONLY
	if was == PhaseNone {
		flags |= os.O_CREATE | os.O_EXCL
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return fmt.Errorf("reserve the key file: %w", err)
	}
	_, err = file.Write(append(text, bytes.Repeat([]byte{' '}, reserved-len(text))...))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		if was == PhaseNone {
			err = errors.Join(err, os.Remove(path))
		}
		return fmt.Errorf("reserve the key file %s: %w", path, err)
	}
	return synced(filepath.Dir(path))
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
