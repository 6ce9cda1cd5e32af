// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/secrets/decide"
)

// Cipher opens and seals files of SOPS.
type Cipher interface {
	// Open decrypts a YAML file and verifies it.
	Open(ctx context.Context, content []byte) ([]byte, error)
	// Seal encrypts a YAML file for the recipients.
	Seal(ctx context.Context, plain []byte, recipients []string) ([]byte, error)
}

// SOPS is a file of sops with one value a key. The book is not encrypted: the age of secrets can be read
// without a key. Nothing else is readable: values under names that sops would not encrypt are refused.
type SOPS struct {
	// Path is the file, and Label how messages name it.
	Path, Label string
	Recipients  []string
	Cipher      Cipher
}

// plainBook is the key of the book; sops leaves keys with this suffix readable.
const plainBook = "yuba" + decide.Plain

// maxFile limits files of sops.
const maxFile = 8 << 20

// Name implements [Place].
func (s *SOPS) Name() string { return "sops file " + s.Label }

func (s *SOPS) load() (content []byte, tag string, err error) {
	content, err = os.ReadFile(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("it has more than %d bytes", maxFile)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", s.Name(), err)
	}
	sum := sha256.Sum256(content)
	return content, hex.EncodeToString(sum[:]), nil
}

// Read implements [Place].
func (s *SOPS) Read(ctx context.Context) (decide.Document, string, error) {
	content, tag, err := s.load()
	if err != nil || content == nil {
		return decide.Document{}.Clone(), "", err
	}
	plain, err := s.Cipher.Open(ctx, content)
	if err != nil {
		return decide.Document{}, "", fmt.Errorf("decrypt %s: %w", s.Name(), err)
	}
	values := map[string]any{}
	if yaml.Unmarshal(plain, &values) != nil {
		return decide.Document{}, "", fmt.Errorf("read %s: it is not a YAML mapping", s.Name()) // the error may quote it
	}
	texts := map[string]string{}
	for key, value := range values {
		text, ok := value.(string)
		if !ok {
			return decide.Document{}, "", fmt.Errorf("read %s: the value of %s is not a text; Yuba keeps one text a key", s.Name(), key)
		}
		texts[key] = text
	}
	book := texts[plainBook]
	delete(texts, plainBook)
	d, err := parse(s.Name(), texts, book)
	return d, tag, err
}

// Write implements [Place].
func (s *SOPS) Write(ctx context.Context, d decide.Document, over string) error {
	d.Book.Rotation = d.Book.Rotation.Silent()
	values, book, err := render(d)
	if err != nil {
		return err
	}
	for key := range values {
		if strings.HasSuffix(key, decide.Plain) {
			return fmt.Errorf("write %s: sops would not encrypt the value of %s, because its name ends with %s. Rename it", s.Name(), key, decide.Plain)
		}
	}
	values[plainBook] = book
	plain, err := json.Marshal(values) // JSON is YAML, and quotes each text
	if err != nil {
		return err
	}
	sealed, err := s.Cipher.Seal(ctx, plain, s.Recipients)
	if err != nil {
		return fmt.Errorf("encrypt %s: %w", s.Name(), err)
	}
	if err := s.replace(sealed, over); err != nil {
		return fmt.Errorf("write %s: %w", s.Name(), err)
	}
	return nil
}

// replace replaces the file in one step, if it is still the one with the tag. The lock of its directory
// keeps two of these processes apart.
func (s *SOPS) replace(content []byte, over string) (err error) {
	dir := filepath.Dir(s.Path)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the content is encrypted
		return err
	}
	lock, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer lock.Close()                                               //nolint:errcheck // it only held the lock
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil { //nolint:gosec // descriptors are small
		return fmt.Errorf("lock its directory: %w", err)
	}
	if _, tag, err := s.load(); err != nil || tag != over {
		return errors.Join(err, ErrMoved)
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(s.Path); err == nil {
		mode = info.Mode().Perm()
	}
	temporary, err := os.CreateTemp(dir, "."+filepath.Base(s.Path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary.Name())
		}
	}()
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Chmod(mode), temporary.Sync(), temporary.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(temporary.Name(), s.Path); err != nil {
		return err
	}
	return lock.Sync()
}
