// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"time"

	"filippo.io/age"
)

// inMemory is how much of a member is read before it is spooled.
const inMemory = 1 * mib

// Writer writes the content of an archive. It is for one goroutine.
type Writer struct {
	Index Index

	ctx     context.Context
	dir     string
	now     time.Time
	to      Recipients
	content *sealing
	tar     *tar.Writer
	names   map[string]bool
}

// sealing is an encrypted member that is being written.
type sealing struct {
	file   *os.File
	sum    hash.Hash
	size   int64
	sealer io.WriteCloser
}

// NewWriter begins an archive for these recipients. Temporary files, all of them encrypted, are in the
// directory, "" for the system's.
func NewWriter(ctx context.Context, to Recipients, dir string, now time.Time) (*Writer, error) {
	if len(to.Keys) == 0 {
		return nil, errors.New("seal an archive: no recipient")
	}
	w := &Writer{Index: Index{Format: Format}, ctx: ctx, dir: dir, now: now, to: to, names: map[string]bool{}}
	var err error
	if w.content, err = w.seal(); err != nil {
		return nil, err
	}
	w.tar = tar.NewWriter(w.content.sealer)
	return w, nil
}

func (w *Writer) seal() (*sealing, error) {
	file, err := unnamed(w.dir)
	if err != nil {
		return nil, fmt.Errorf("create a temporary file: %w", err)
	}
	s := &sealing{file: file, sum: sha256.New()}
	if s.sealer, err = age.Encrypt(s, w.to.Keys...); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

func (s *sealing) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	s.sum.Write(p[:n]) //nolint:errcheck // a hash takes everything
	s.size += int64(n)
	return n, err
}

func (s *sealing) member(name string) Member {
	return Member{Name: name, Size: s.size, SHA256: hex.EncodeToString(s.sum.Sum(nil))}
}

// Add adds a member. After an error, the archive is unusable.
func (w *Writer) Add(name string, r io.Reader) error {
	if err := w.add(name, r); err != nil {
		return fmt.Errorf("archive %s: %w", name, err)
	}
	return nil
}

func (w *Writer) add(name string, r io.Reader) error {
	if err := checkName(name); err != nil {
		return err
	}
	if w.names[name] {
		return errors.New("it is in the archive already. This is a bug in Yuba")
	}
	w.names[name] = true
	r = &interruptible{w.ctx, r}
	first, err := io.ReadAll(io.LimitReader(r, inMemory+1))
	if err != nil {
		return err
	}
	if len(first) <= inMemory {
		return w.entry(name, int64(len(first)), bytes.NewReader(first))
	}
	s, err := spooled(w.dir, io.MultiReader(bytes.NewReader(first), r))
	if err != nil {
		return err
	}
	return errors.Join(w.entry(name, s.size, s.reader()), s.close())
}

func (w *Writer) entry(name string, size int64, r io.Reader) error {
	head := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: w.now, Format: tar.FormatPAX}
	if err := w.tar.WriteHeader(head); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w.tar, sum), r); err != nil {
		return err
	}
	w.Index.Members = append(w.Index.Members, Member{Name: name, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))})
	return nil
}

// AddBytes adds a small member.
func (w *Writer) AddBytes(name string, data []byte) error { return w.Add(name, bytes.NewReader(data)) }

// Sealed is a complete archive in temporary files.
type Sealed struct {
	Header Header
	// Size is that of the archive.
	Size int64

	head    []byte
	index   *sealing
	content *sealing
}

// Close ends the content, has the header signed, and returns the archive. The caller fills the header
// but for its digests.
func (w *Writer) Close(h Header, sign func(header []byte) (Signature, error)) (*Sealed, error) {
	sums := &bytes.Buffer{}
	for _, m := range w.Index.Members {
		fmt.Fprintf(sums, "%s  %s\n", m.SHA256, m.Name)
	}
	err := w.add(SumsName, sums)
	if err = errors.Join(err, w.tar.Close(), w.content.sealer.Close()); err != nil {
		return nil, fmt.Errorf("end the archive: %w", err)
	}
	s := &Sealed{content: w.content}
	if s.index, err = w.seal(); err != nil {
		return nil, err
	}
	if err := errors.Join(json.NewEncoder(s.index.sealer).Encode(w.Index), s.index.sealer.Close()); err != nil {
		return nil, fmt.Errorf("end the archive: %w", err)
	}
	h.Kind, h.Format, h.Created, h.Recipients = Kind, Format, w.now.UTC(), w.to.Texts
	readme := []byte(readmeOf(h))
	sum := sha256.Sum256(readme)
	h.Members = []Member{{Name: readmeName, Size: int64(len(readme)), SHA256: hex.EncodeToString(sum[:])}, s.index.member(indexName), s.content.member(contentName)}
	s.Header = h
	return s, s.begin(readme, sign)
}

// begin makes everything before the encrypted members.
func (s *Sealed) begin(readme []byte, sign func([]byte) (Signature, error)) error {
	header, err := json.MarshalIndent(s.Header, "", "  ")
	if err != nil {
		return err
	}
	header = append(header, '\n')
	signature, err := sign(header)
	if err != nil {
		return fmt.Errorf("sign the archive: %w", err)
	}
	var head bytes.Buffer
	out := tar.NewWriter(&head)
	for _, m := range []struct {
		name string
		data []byte
	}{{readmeName, readme}, {headerName, header}, {signatureName, signature.Signature}, {signerName, []byte(signature.PublicKey)}} {
		if err := s.header(out, m.name, int64(len(m.data))); err != nil {
			return err
		}
		if _, err := out.Write(m.data); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	s.head = head.Bytes()
	n, err := io.Copy(io.Discard, s.Reader())
	s.Size = n
	return err
}

func (s *Sealed) header(out *tar.Writer, name string, size int64) error {
	return out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: s.Header.Created, Format: tar.FormatPAX})
}

// Reader reads the archive from its beginning.
func (s *Sealed) Reader() io.Reader {
	r, w := io.Pipe()
	go func() { w.CloseWithError(s.write(w)) }() //nolint:errcheck // it returns nil
	return r
}

func (s *Sealed) write(w io.Writer) error {
	if _, err := w.Write(s.head); err != nil {
		return err
	}
	out := tar.NewWriter(w)
	for _, m := range []struct {
		name string
		from *sealing
	}{{indexName, s.index}, {contentName, s.content}} {
		if err := s.header(out, m.name, m.from.size); err != nil {
			return err
		}
		if _, err := io.Copy(out, io.NewSectionReader(m.from.file, 0, m.from.size)); err != nil {
			return err
		}
	}
	return out.Close()
}

// Discard removes the temporary files.
func (s *Sealed) Discard() error { return errors.Join(s.index.file.Close(), s.content.file.Close()) }

// Abort removes the temporary files of an archive that is not completed.
func (w *Writer) Abort() error { return w.content.file.Close() }

// interruptible ends reading with its context.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

func readmeOf(h Header) string {
	var b strings.Builder
	fmt.Fprintf(&b, "This is a sealed archive of Yuba, made at %s.\n\n", h.Created.Format(time.RFC3339))
	b.WriteString("It has states, histories and manifests of these stacks:\n\n")
	for i, s := range h.Stacks {
		if i == 200 {
			fmt.Fprintf(&b, "    and %d others, see archive.json\n", len(h.Stacks)-i)
			break
		}
		fmt.Fprintf(&b, "    %s\n", s)
	}
	b.WriteString("\nOnly the identities of these recipients decrypt it:\n\n")
	for _, r := range h.Recipients {
		fmt.Fprintf(&b, "    %s\n", r)
	}
	b.WriteString(`
You do not need Yuba to read it. With age (https://age-encryption.org), as FILE:

    mkdir extracted
    tar -xOf FILE content.tar.age | age -d -i KEY | tar -x -C extracted
    cd extracted && sha256sum -c SHA256SUMS

To check who wrote it, compare signer.pem with the key that the home published, and then:

    tar -xf FILE archive.json archive.json.sig signer.pem content.tar.age
    openssl pkeyutl -verify -pubin -inkey signer.pem -rawin -in archive.json -sigfile archive.json.sig
    sha256sum content.tar.age    # as in archive.json

stacks/NAMESPACE/NAME/terraform.tfstate is the current state: "tofu state push" takes it.
content/states/ has its earlier versions, as gzip; content/runs/ has records, logs and plans of runs;
content/artifacts/ has the programs, as .tar.gz without the ending; stack.yaml is the manifest.
The content is in clear text once it is decrypted, credentials in states and records included.
`)
	return b.String()
}
