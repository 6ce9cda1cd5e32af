// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"archive/tar"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"filippo.io/age"
)

// Archive is a sealed archive whose header is intact: its signature, if it has one, matches.
type Archive struct {
	Header Header
	// Signer is the fingerprint of the signer's public key; empty for an archive without a signature.
	Signer string
	// PublicKey is the signer's, as PEM.
	PublicKey string

	file  io.ReaderAt
	parts map[string]place
}

// place is where a member is in the file.
type place struct{ offset, size int64 }

// Open reads the header of an archive in a file of this size, and checks its signature and the layout
// of the file. It reads nothing of the content: see Verify.
func Open(file io.ReaderAt, size int64) (*Archive, error) {
	a := &Archive{file: file, parts: map[string]place{}}
	if err := a.readLayout(size); err != nil {
		return nil, err
	}
	header, err := a.read(headerName, maxHeader)
	if err != nil {
		return nil, err
	}
	if err := a.checkSignature(header); err != nil {
		return nil, err
	}
	if a.Header, err = parseHeader(header); err != nil {
		return nil, err
	}
	return a, a.checkHeader()
}

// readLayout finds the members, which must be exactly those of the format, in their order.
func (a *Archive) readLayout(size int64) error {
	position := &counted{r: io.NewSectionReader(a.file, 0, size)}
	entries := tar.NewReader(position)
	for _, want := range []string{readmeName, headerName, signatureName, signerName, indexName, contentName} {
		head, err := entries.Next()
		switch {
		case errors.Is(err, io.EOF) && len(a.parts) == 0:
			return bad("it is not a sealed archive")
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return bad("it is truncated: %s is missing", want)
		case errors.Is(err, tar.ErrHeader):
			return bad("it is not a sealed archive, or is damaged before %s", want)
		case err != nil:
			return fmt.Errorf("read the archive: %w", err)
		case head.Typeflag != tar.TypeReg || head.Name != want:
			return bad("its member %q is not allowed in the place of %s", cut(head.Name), want)
		case head.Size > size-position.n:
			return bad("it is truncated in %s", want)
		}
		a.parts[want] = place{position.n, head.Size}
	}
	if _, err := entries.Next(); !errors.Is(err, io.EOF) {
		return bad("its end is missing, or something follows %s", contentName)
	}
	last := a.parts[contentName]
	if end := last.offset + (last.size+block-1)/block*block + endBlocks; size != end {
		return bad("its end is missing, or something follows it: it has %d bytes instead of %d", size, end)
	}
	return nil
}

// A tar archive has blocks of this size, and two empty ones at its end.
const (
	block     = 512
	endBlocks = 2 * block
)

func (a *Archive) section(name string) *io.SectionReader {
	p := a.parts[name]
	return io.NewSectionReader(a.file, p.offset, p.size)
}

func (a *Archive) read(name string, limit int64) ([]byte, error) {
	if a.parts[name].size > limit {
		return nil, bad("%s is larger than %d bytes", name, limit)
	}
	return io.ReadAll(a.section(name))
}

func (a *Archive) checkSignature(header []byte) error {
	public, err := a.read(signerName, maxSigner)
	if err != nil {
		return err
	}
	signature, err := a.read(signatureName, maxSigner)
	if err != nil {
		return err
	}
	if len(public) == 0 && len(signature) == 0 {
		return nil // written without a signature
	}
	key, print, err := parsePublic(public)
	if err != nil {
		return bad("its %s is damaged: %v", signerName, err)
	}
	if !ed25519.Verify(key, header, signature) {
		return bad("the signature does not match: %s was changed, or is damaged", headerName)
	}
	a.Signer, a.PublicKey = print, string(public)
	return nil
}

// checkHeader compares the header with the file.
func (a *Archive) checkHeader() error {
	want := []string{readmeName, indexName, contentName}
	if len(a.Header.Members) != len(want) {
		return bad("%s does not list the members of the archive", headerName)
	}
	for i, m := range a.Header.Members {
		if m.Name != want[i] || m.Size != a.parts[m.Name].size {
			return bad("%s is not the one that %s lists", want[i], headerName)
		}
	}
	return nil
}

// Verify reads the whole archive and compares it with its header. It needs no identity.
func (a *Archive) Verify(ctx context.Context) error {
	for _, m := range a.Header.Members {
		sum := sha256.New()
		if _, err := io.Copy(sum, &interruptible{ctx, a.section(m.Name)}); err != nil {
			return fmt.Errorf("read %s of the archive: %w", m.Name, err)
		}
		if hex.EncodeToString(sum.Sum(nil)) != m.SHA256 {
			return bad("%s is damaged: its checksum is another one than in %s", m.Name, headerName)
		}
	}
	return nil
}

func (a *Archive) decrypt(name string, identities []age.Identity) (io.Reader, error) {
	if len(identities) == 0 {
		return nil, ErrNoIdentity
	}
	clear, err := age.Decrypt(a.section(name), identities...)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return nil, ErrNoIdentity
	}
	if err != nil {
		return nil, bad("%s cannot be decrypted: %v", name, err)
	}
	return clear, nil
}

// ReadIndex decrypts the index. Its stacks are those of the header, which the home's signature vouches for.
func (a *Archive) ReadIndex(identities ...age.Identity) (Index, error) {
	var index Index
	clear, err := a.decrypt(indexName, identities)
	if err != nil {
		return index, err
	}
	data, err := io.ReadAll(io.LimitReader(clear, maxIndex+1))
	if err != nil {
		return index, bad("%s is damaged: %v", indexName, err)
	}
	if len(data) > maxIndex || json.Unmarshal(data, &index) != nil || index.Format != Format || len(index.Members) > maxMembers {
		return index, bad("%s cannot be read", indexName)
	}
	return index, a.signedStacks(index)
}

// signedStacks refuses an index with other stacks than the header's, also one stack twice.
func (a *Archive) signedStacks(index Index) error {
	listed := make([]string, 0, len(index.Stacks))
	for _, t := range index.Stacks {
		listed = append(listed, t.Namespace+"/"+t.Name)
	}
	slices.Sort(listed)
	if signed := slices.Sorted(slices.Values(a.Header.Stacks)); !slices.Equal(signed, listed) || len(slices.Compact(signed)) != len(listed) {
		return bad("the stacks of %s are not those of its signed %s", indexName, headerName)
	}
	return nil
}

// Each decrypts the content, and calls do for each member in the order of the archive. It reports an
// error if the content is not the one that the index lists: then nothing that do got may be used. do
// may leave a rest of the member unread.
func (a *Archive) Each(ctx context.Context, index Index, identities []age.Identity, do func(name string, content io.Reader) error) error {
	clear, err := a.decrypt(contentName, identities)
	if err != nil {
		return err
	}
	damage := &damage{r: &interruptible{ctx, clear}}
	entries := tar.NewReader(damage)
	for _, want := range index.Members {
		if err := checkName(want.Name); err != nil {
			return err
		}
		head, err := entries.Next()
		if err != nil {
			return damage.explain(want.Name, err)
		}
		if head.Typeflag != tar.TypeReg || head.Name != want.Name || head.Size != want.Size {
			return bad("its content has %q in the place of %s", cut(head.Name), want.Name)
		}
		m := &member{r: entries, want: want, damage: damage}
		if err := do(want.Name, m); err != nil {
			return err
		}
		if err := m.finish(); err != nil {
			return err
		}
	}
	if _, err := entries.Next(); !errors.Is(err, io.EOF) {
		return bad("its content has members that the index does not list")
	}
	// The encryption's own end proves that nothing is missing.
	if _, err := io.Copy(io.Discard, damage); err != nil {
		return damage.explain(contentName, err)
	}
	return nil
}

// member is the content of a member, and reports at its end whether it is the listed one.
type member struct {
	r      io.Reader
	want   Member
	damage *damage
	sum    hasher
	ended  bool
}

func (m *member) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.sum.add(p[:n])
	if errors.Is(err, io.EOF) {
		m.ended = true
		if m.sum.hex() != m.want.SHA256 {
			return n, bad("%s is damaged: its checksum is another one than in the index", m.want.Name)
		}
		return n, io.EOF
	}
	if err != nil {
		return n, m.damage.explain(m.want.Name, err)
	}
	return n, nil
}

func (m *member) finish() error {
	if m.ended {
		return nil
	}
	_, err := io.Copy(io.Discard, m)
	return err
}

// damage remembers errors of the decryption.
type damage struct {
	r   io.Reader
	err error
}

func (d *damage) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		d.err = err
	}
	return n, err
}

func (d *damage) explain(name string, err error) error {
	if d.err != nil && (errors.Is(d.err, context.Canceled) || errors.Is(d.err, context.DeadlineExceeded)) {
		return d.err
	}
	return bad("its content is damaged at %s: %v", name, err)
}

// counted counts what was read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
