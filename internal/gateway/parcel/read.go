// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package parcel

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/kit/bundle"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// BadError means that a stream is not a parcel, or not one for this stack.
type BadError struct{ Message string }

func (e *BadError) Error() string { return "import the content of a stack: " + e.Message }

func bad(format string, args ...any) error { return &BadError{fmt.Sprintf(format, args...)} }

// Read stores the content of a parcel for a stack with the same namespace and name. It may be
// repeated.
func (s *Store) Read(ctx context.Context, r io.Reader, to Subject) (Summary, error) {
	in := &reader{ctx: ctx, tar: tar.NewReader(r), got: map[string]bundle.Member{}}
	var header Header
	if name, err := in.next(); err != nil || name != headerName {
		return Summary{}, bad("it does not begin with %s", headerName)
	}
	if err := in.readJSON(&header, maxHeader); err != nil {
		return Summary{}, err
	}
	switch {
	case header.Format < 1:
		return Summary{}, bad("it has no format number")
	case header.Format > Format:
		return Summary{}, bad("a newer Yuba wrote it (format %d). Upgrade this server first", header.Format)
	case header.Namespace != to.Stack.Namespace || header.Name != to.Stack.Name:
		return Summary{}, bad("it is of stack %s/%s, not of %s", header.Namespace, header.Name, to.Stack)
	}
	summary := Summary{Versions: []string{}, Runs: []string{}}
	for {
		name, err := in.next()
		if err != nil {
			return Summary{}, err
		}
		if name == bundle.ManifestName {
			break
		}
		if err := s.take(in, name, header, to, &summary); err != nil {
			return Summary{}, err
		}
	}
	return summary, in.check(&summary)
}

// take stores one member.
func (s *Store) take(in *reader, name string, from Header, to Subject, summary *Summary) error {
	dir, rest, _ := strings.Cut(name, "/")
	switch {
	case name == lockFileName:
		data, err := in.all(maxLockFile)
		if err != nil {
			return err
		}
		return s.Blobs.PutBytes(in.ctx, to.Stack.LockFileKey(), data)
	case dir == statesDir:
		if to.State == nil {
			return in.skip(state.MaxSize)
		}
		version, err := s.States.PutPacked(in.ctx, *to.State, rest, from.UID, in.member(state.MaxSize))
		var corrupt *state.CorruptError
		if errors.As(err, &corrupt) {
			return bad("%v", err)
		}
		if err != nil {
			return err
		}
		summary.Versions = append(summary.Versions, version.ID)
		return in.skip(mib) // what follows the compressed state
	case dir == artifactsDir:
		return s.takeArtifact(in, rest, summary)
	case dir == runsDir:
		return s.takeRun(in, rest, from, to, summary)
	}
	return bad("it has an unknown member %q", name)
}

func (s *Store) takeArtifact(in *reader, sum string, summary *Summary) error {
	want := digestPrefix + sum
	if _, err := blob.ArtifactKey(want); err != nil {
		return bad("%v", err)
	}
	has, err := s.Blobs.HasArtifact(in.ctx, want)
	if err != nil {
		return err
	}
	summary.Artifacts++
	if has {
		return in.skip(s.MaxArtifact)
	}
	digest, _, err := s.Blobs.PutArtifact(in.ctx, in.member(s.MaxArtifact), s.MaxArtifact)
	if err == nil && digest != want {
		err = bad("archive %s has digest %s", want, digest)
	}
	return err
}

func (s *Store) takeRun(in *reader, rest string, from Header, to Subject, summary *Summary) error {
	id, part, _ := strings.Cut(rest, "/")
	if !isRun(id) || !slices.Contains(parts, part) {
		return bad("it has an unknown member %q", runsDir+"/"+rest)
	}
	key := to.Stack.Key(id, part)
	if part != run.BlobRecord {
		return s.Blobs.Put(in.ctx, key, in.member(maxPart))
	}
	data, err := in.all(maxRecord)
	if err != nil {
		return err
	}
	rec, err := adapt(data, id, from, to)
	if err != nil {
		return err
	}
	if data, err = json.Marshal(rec); err != nil {
		return err
	}
	summary.Runs = append(summary.Runs, rec.Spec.ID)
	return s.Blobs.PutBytes(in.ctx, key, data)
}

// adapt makes a record one of this home's: of its stack, ended, without anything that gives access
// or says where it may execute.
func adapt(data []byte, id string, from Header, to Subject) (run.Record, error) {
	var rec run.Record
	if err := json.Unmarshal(data, &rec); err != nil {
		return rec, bad("the record of run %s cannot be read: %v", id, err)
	}
	switch {
	case rec.Spec.Stack.Namespace != from.Namespace || rec.Spec.Stack.Name != from.Name || rec.Spec.Stack.UID != from.UID:
		return rec, bad("run %s is of another stack", id)
	case rec.Result == nil:
		return rec, bad("run %s has not ended", id)
	case !runID.MatchString(rec.Spec.ID) || id != run.QuietSlot && id != rec.Spec.ID:
		return rec, bad("the record below %s is that of run %q", id, rec.Spec.ID)
	}
	rec.Spec.Stack = to.Stack
	rec.Token, rec.Runner, rec.Home, rec.Place, rec.LockHeld = "", "", "", nil, false
	rec.Quiet = id == run.QuietSlot
	rec.State.Namespace = to.Stack.Namespace
	if to.State != nil {
		rec.State.Scope = to.State.Scope
	}
	return rec, nil
}

// reader reads members. A member is the content of consecutive entries with one name.
type reader struct {
	ctx context.Context
	tar *tar.Reader
	// name is the current member's, ahead that of an entry that follows it, at its beginning.
	name, ahead string
	begun       bool
	end         error
	sum         hash.Hash
	size, limit int64
	got         map[string]bundle.Member
}

// next begins the next member. The previous one must have been read to its end.
func (r *reader) next() (string, error) {
	if r.name != "" {
		if err := r.skip(0); err != nil {
			return "", err
		}
		r.got[r.name] = bundle.Member{Name: r.name, Size: r.size, SHA256: hex.EncodeToString(r.sum.Sum(nil))}
	}
	if !r.begun {
		r.begun = true
		if err := r.entry(); err != nil {
			return "", err
		}
	}
	if r.end != nil {
		return "", bad("it is truncated")
	}
	if _, twice := r.got[r.ahead]; twice || len(r.got) >= maxMembers {
		return "", bad("it has too many members, or %q twice", r.ahead)
	}
	r.name, r.ahead, r.sum, r.size = r.ahead, "", sha256.New(), 0
	return r.name, nil
}

// entry reads the header of the next entry.
func (r *reader) entry() error {
	if err := r.ctx.Err(); err != nil {
		return context.Cause(r.ctx)
	}
	head, err := r.tar.Next()
	switch {
	case errors.Is(err, io.EOF):
		r.end = err
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return bad("it is truncated")
	case errors.Is(err, tar.ErrHeader):
		return bad("it is not a tar archive")
	case err != nil:
		return fmt.Errorf("read the content of a stack: %w", err)
	case head.Typeflag != tar.TypeReg || head.Name == "":
		return bad("%q is not a file", head.Name)
	}
	r.ahead = head.Name
	return nil
}

// member reads the current member, at most limit bytes.
func (r *reader) member(limit int64) io.Reader {
	r.limit = limit
	return memberReader{r}
}

type memberReader struct{ *reader }

func (m memberReader) Read(p []byte) (int, error) {
	r := m.reader
	for {
		if r.ahead != "" || r.end != nil {
			return 0, io.EOF
		}
		n, err := r.tar.Read(p)
		r.sum.Write(p[:n]) //nolint:errcheck // a hash takes everything
		if r.size += int64(n); r.size > r.limit {
			return n, bad("%s is larger than %d bytes", r.name, r.limit)
		}
		if errors.Is(err, io.EOF) {
			if err = r.entry(); err == nil && r.ahead == r.name {
				r.ahead = ""
			}
		} else if errors.Is(err, io.ErrUnexpectedEOF) {
			err = bad("it is truncated in %s", r.name)
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// skip reads the rest of the current member, at most more bytes.
func (r *reader) skip(more int64) error {
	_, err := io.Copy(io.Discard, r.member(r.size+more))
	return err
}

func (r *reader) all(limit int64) ([]byte, error) { return io.ReadAll(r.member(limit)) }

func (r *reader) readJSON(into any, limit int64) error {
	data, err := r.all(limit)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return bad("%s cannot be read: %v", r.name, err)
	}
	return nil
}

// check compares what was read with the manifest.
func (r *reader) check(summary *Summary) error {
	var manifest bundle.Manifest
	if err := r.readJSON(&manifest, maxManifest); err != nil {
		return err
	}
	summary.Damaged = manifest.Damaged
	known := map[string]bool{}
	for _, m := range manifest.Members {
		known[m.Name] = true
		if r.got[m.Name] != m {
			return bad("%s does not match the manifest", m.Name)
		}
		summary.Bytes += m.Size
	}
	for name := range r.got {
		if !known[name] {
			return bad("%s is not in the manifest", name)
		}
	}
	return nil
}
