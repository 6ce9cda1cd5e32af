// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package parcel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/bundle"
)

// The API server of a cluster ends each request after a minute. So long contents travel in parts, which
// are parcels, too.
const (
	// PartSize needs 0.3 MB/s in a minute.
	PartSize = 16 * mib
	// PartTime ends the parts of slow connections early.
	PartTime = 20 * time.Second
	// partUnits limits the units of an imported part: each run needs some ten requests to a bucket, half
	// a second in all.
	partUnits = 50
)

// Part selects a part of a stack's content. The zero value is everything.
type Part struct {
	// After is the last unit of the previous part; empty for the first part. A unit is a member, or all
	// members of a run.
	After string
	// Size and Time end the part with the unit that reaches them; zero for no limit.
	Size int64
	Time time.Duration
}

// unitOf is the unit of a member.
func unitOf(member string) string {
	if dir, rest, _ := strings.Cut(member, "/"); dir == runsDir {
		id, _, _ := strings.Cut(rest, "/")
		return dir + "/" + id
	}
	return member
}

// follows reports whether a unit comes after another one, in the order in which Write writes them.
func follows(unit, after string) bool {
	a, b := sectionOf(unit), sectionOf(after)
	return a > b || a == b && unit > after
}

func sectionOf(unit string) int {
	dir, _, _ := strings.Cut(unit, "/")
	for i, section := range []string{lockFileName, statesDir, artifactsDir, runsDir} {
		if dir == section {
			return i + 1
		}
	}
	return 0
}

// begins reports whether a unit belongs to the part that is written.
func (w *writer) begins(unit string) bool {
	if w.Manifest.Next != "" || !follows(unit, w.part.After) {
		return false
	}
	full := w.part.Size > 0 && w.size.n >= w.part.Size || w.part.Time > 0 && time.Since(w.began) >= w.part.Time
	if full && w.last != "" {
		w.Manifest.Next = w.last
		return false
	}
	w.last = unit
	return true
}

// counter counts what is written.
type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// Merge writes the parts of a parcel as one. Next returns the part after a unit. What has been written
// is complete only if Merge returns no error.
func Merge(ctx context.Context, w io.Writer, next func(ctx context.Context, after string) (io.ReadCloser, error)) error {
	m := &merger{ctx: ctx, w: w}
	for after := ""; ; {
		part, err := next(ctx, after)
		if err != nil {
			return err
		}
		manifest, err := m.add(part)
		if err := errors.Join(err, part.Close()); err != nil {
			return err
		}
		if manifest.Next == "" {
			return m.out.Close()
		}
		if !follows(manifest.Next, after) {
			return bad("the part after %q ends with %q", after, manifest.Next)
		}
		after = manifest.Next
	}
}

type merger struct {
	ctx    context.Context
	w      io.Writer
	out    *bundle.Writer
	header Header
}

// add adds the members of a part.
func (m *merger) add(part io.Reader) (bundle.Manifest, error) {
	in, header, err := begin(m.ctx, part)
	if err != nil {
		return bundle.Manifest{}, err
	}
	if m.out == nil {
		m.header, m.out = header, bundle.NewWriter(m.ctx, m.w, header.Created)
		if err := m.out.AddJSON(headerName, header); err != nil {
			return bundle.Manifest{}, err
		}
	}
	if header.UID != m.header.UID || header.Namespace != m.header.Namespace || header.Name != m.header.Name {
		return bundle.Manifest{}, bad("the stack was replaced by another one of its name during the export")
	}
	for {
		name, err := in.next()
		if err != nil {
			return bundle.Manifest{}, err
		}
		if name == bundle.ManifestName {
			break
		}
		if err := m.out.Add(name, in.member(MaxTotal)); err != nil {
			return bundle.Manifest{}, err
		}
	}
	manifest, err := in.check()
	m.out.Manifest.Damaged = append(m.out.Manifest.Damaged, manifest.Damaged...)
	return manifest, err
}

// begin reads the header of a parcel. Its reader trusts the sender: it limits nothing but the sum.
func begin(ctx context.Context, r io.Reader) (*reader, Header, error) {
	in := newReader(ctx, r, MaxTotal)
	var header Header
	name, err := in.next()
	var format *BadError
	switch {
	case err != nil && !errors.As(err, &format):
		return nil, header, err // such as a lost connection
	case err != nil, name != headerName:
		return nil, header, bad("it does not begin with %s", headerName)
	}
	return in, header, in.readJSON(&header, maxHeader)
}

// Split sends a parcel in parts that end with the unit that reaches the size, and returns the sum of
// their summaries. Send gets a file that it may read repeatedly. A part that was sent is correct by
// itself, so after an error the parcel can be sent again.
func Split(ctx context.Context, r io.Reader, size int64, send func(ctx context.Context, part io.ReadSeeker) (Summary, error)) (Summary, error) {
	in, header, err := begin(ctx, r)
	if err != nil {
		return Summary{}, err
	}
	s := &splitter{ctx: ctx, header: header, size: size, send: send, sum: Summary{Versions: []string{}, Runs: []string{}}}
	defer s.discard()
	for {
		name, err := in.next()
		if err != nil {
			return s.sum, err
		}
		if name == bundle.ManifestName {
			break
		}
		if err := s.begin(unitOf(name)); err != nil {
			return s.sum, err
		}
		if err := s.bundle.Add(name, in.member(MaxTotal)); err != nil {
			return s.sum, err
		}
	}
	manifest, err := in.check()
	if err != nil {
		return s.sum, err
	}
	if err := s.open(); err != nil { // of a parcel without members
		return s.sum, err
	}
	return s.sum, s.flush(manifest.Damaged)
}

// splitter writes a part to a file and sends it: so the target does not wait for the source.
type splitter struct {
	ctx    context.Context
	header Header
	size   int64
	send   func(context.Context, io.ReadSeeker) (Summary, error)
	// file is nil between two parts. last is the current unit, units counts those of the part.
	file   *os.File
	out    *counter
	bundle *bundle.Writer
	last   string
	units  int
	sum    Summary
}

// begin prepares for a member of a unit. A full part is sent before another unit begins.
func (s *splitter) begin(unit string) error {
	if unit != s.last {
		if s.file != nil && (s.out.n >= s.size || s.units >= partUnits) {
			if err := s.flush(nil); err != nil {
				return err
			}
		}
		s.last = unit
		s.units++
	}
	return s.open()
}

// open begins a part, unless one has begun.
func (s *splitter) open() error {
	if s.file != nil {
		return nil
	}
	file, err := os.CreateTemp("", "yuba-part-*")
	if err != nil {
		return fmt.Errorf("create a file for a part of the content of %s/%s: %w", s.header.Namespace, s.header.Name, err)
	}
	s.file, s.out = file, &counter{Writer: file}
	s.bundle = bundle.NewWriter(s.ctx, s.out, s.header.Created)
	return s.bundle.AddJSON(headerName, s.header)
}

// flush sends the part.
func (s *splitter) flush(damaged []string) error {
	defer s.discard()
	s.bundle.Manifest.Damaged = damaged
	if err := s.bundle.Close(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	part, err := s.send(s.ctx, s.file)
	if err != nil {
		return err
	}
	s.sum.Versions, s.sum.Runs = append(s.sum.Versions, part.Versions...), append(s.sum.Runs, part.Runs...)
	s.sum.Damaged = append(s.sum.Damaged, part.Damaged...)
	s.sum.Artifacts, s.sum.Bytes = s.sum.Artifacts+part.Artifacts, s.sum.Bytes+part.Bytes
	return nil
}

func (s *splitter) discard() {
	if s.file == nil {
		return
	}
	_ = s.file.Close() // nobody reads it again
	_ = os.Remove(s.file.Name())
	s.file, s.units = nil, 0
}
