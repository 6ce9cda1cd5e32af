// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// Version is a stored state.
type Version struct {
	// ID sorts by time: twenty digits of Unix nanoseconds, "-", the serial.
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Serial uint64    `json:"serial"`

	Lineage   string `json:"lineage"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
	Encrypted bool   `json:"encrypted,omitempty"`
	// RunID is the run that wrote it; empty if it was not a run.
	RunID string `json:"runID,omitempty"`
	// Reason describes why it was written.
	Reason string `json:"reason,omitempty"`
	// Scope is the tenant of the stack that it was written for.
	Scope scope.Scope `json:"tenant,omitempty"`
	// Owners are the stacks whose resources it contains, oldest first; empty if not recorded.
	Owners []Owner `json:"owners,omitempty"`
}

// Mark identifies the version's content for a later Write.
func (v Version) Mark() Mark { return Mark{Serial: v.Serial, Lineage: v.Lineage, Digest: v.Digest} }

// note is a version's metadata besides id and content, in the gzip header of the blob ("extra
// field"): a version is one blob, complete or absent, and still a plain compressed file.
type note struct {
	Lineage   string      `json:"lineage"`
	Digest    string      `json:"digest"`
	Size      int64       `json:"size"`
	Encrypted bool        `json:"encrypted,omitempty"`
	RunID     string      `json:"run,omitempty"`
	Reason    string      `json:"reason,omitempty"`
	Scope     scope.Scope `json:"tenant,omitempty"`
	Owners    []Owner     `json:"owners,omitempty"`
}

const (
	// noteID marks our part of the extra field, in the format of RFC 1952: two letters, two bytes
	// of length, the data.
	noteID = "Yb"
	// maxReason keeps the note far below the field's limit of 64 KiB.
	maxReason = 1024
)

// Versions yields the stored versions, newest first. A damaged one comes with a *CorruptError and
// the data of its id; any other error ends the iteration, which holds ids, not states.
func (s *Store) Versions(ctx context.Context, key Key) iter.Seq2[Version, error] {
	return func(yield func(Version, error) bool) {
		ids, err := s.versionIDs(ctx, key)
		if err != nil {
			yield(Version{}, fmt.Errorf("list the versions of %s: %w", key, err))
			return
		}
		for _, id := range slices.Backward(ids) {
			version, content, err := s.openVersion(ctx, key, id)
			if errors.Is(err, blob.ErrNotFound) {
				continue // deleted meanwhile
			}
			if err == nil {
				err = content.Close()
			}
			if !yield(version, err) || err != nil && !damaged(err) {
				return
			}
		}
	}
}

// damaged reports whether a version exists but cannot be read, which must not prevent writing new
// ones.
func damaged(err error) bool {
	var corrupt *CorruptError
	return errors.As(err, &corrupt)
}

// ReadVersion returns a stored version and its content, ErrNoVersion if there is none with that id,
// or an *OwnedError if the state belongs to another tenant now, or did when it was written.
func (s *Store) ReadVersion(ctx context.Context, key Key, id string) (Version, []byte, error) {
	if err := key.Validate(); err != nil {
		return Version{}, nil, err
	}
	if key.Scope != "" { // a version from before the stack had a tenant does not name one
		if _, err := s.getSecret(ctx, key); err != nil {
			return Version{}, nil, fmt.Errorf("read version %s of the state of %s: %w", id, key, err)
		}
	}
	version, data, err := s.readVersion(ctx, key, id)
	if err == nil {
		err = key.owned("version "+id, version.Scope)
	}
	if err != nil {
		return Version{}, nil, err
	}
	return version, data, nil
}

// readVersion is ReadVersion for any tenant.
func (s *Store) readVersion(ctx context.Context, key Key, id string) (Version, []byte, error) {
	version, content, err := s.openVersion(ctx, key, id)
	if errors.Is(err, blob.ErrNotFound) {
		err = fmt.Errorf("%w.\nList the versions:\n    yuba state history %s", ErrNoVersion, key)
	}
	if err != nil {
		return Version{}, nil, fmt.Errorf("read version %s of the state of %s: %w", id, key, err)
	}
	defer content.Close()
	data, err := readLimited(content)
	if err == nil && statefile.Digest(data) != version.Digest {
		err = fmt.Errorf("its digest is %s, expected %s", statefile.Digest(data), version.Digest)
	}
	if err != nil {
		return Version{}, nil, unreadable(key, "version "+id, err)
	}
	return version, data, nil
}

// newest returns nil if no version is stored. For a damaged one only the data of its id is known.
func (s *Store) newest(ctx context.Context, key Key) (*Version, error) {
	for version, err := range s.Versions(ctx, key) {
		if err != nil && !damaged(err) {
			return nil, err
		}
		return &version, nil
	}
	return nil, nil
}

// recorded reports whether a version with this state's content is stored.
func (s *Store) recorded(ctx context.Context, key Key, state *Snapshot) (bool, error) {
	ids, err := s.versionIDs(ctx, key)
	if err != nil {
		return false, err
	}
	for _, id := range slices.Backward(ids) {
		if _, serial, err := parseID(id); err != nil || serial != state.Serial {
			continue
		}
		version, content, err := s.openVersion(ctx, key, id)
		if damaged(err) || errors.Is(err, blob.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		_ = content.Close() // only its note was needed
		if version.Digest == state.Digest {
			return true, nil
		}
	}
	return false, nil
}

// versionIDs returns the ids, oldest first.
func (s *Store) versionIDs(ctx context.Context, key Key) ([]string, error) {
	ids, _, err := s.left(ctx, key)
	return ids, err
}

// left returns the ids of a state's versions, oldest first, and when it was marked as gone; zero if
// it is not.
func (s *Store) left(ctx context.Context, key Key) (ids []string, gone time.Time, err error) {
	if err := key.Validate(); err != nil {
		return nil, gone, err
	}
	for info, err := range s.blobs.List(ctx, key.versionsPrefix()) {
		if err != nil {
			return nil, gone, err
		}
		id := strings.TrimPrefix(info.Key, key.versionsPrefix())
		if id == goneMark {
			gone = info.Modified
		} else if _, _, err := parseID(id); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, gone, nil
}

// storeVersion stores the snapshot as the newest version, with the draft's run, reason and owners.
// If the newest one has the same content, because a write is retried, it returns that.
func (s *Store) storeVersion(ctx context.Context, key Key, snapshot *Snapshot, draft Version) (Version, error) {
	newest, err := s.newest(ctx, key)
	if err != nil {
		return Version{}, err
	}
	if newest != nil && newest.Digest == snapshot.Digest {
		return *newest, nil
	}
	at := time.Now()
	if newest != nil && !at.After(newest.Time) {
		at = newest.Time.Add(1) // the clock went back, but the order of versions must not
	}
	if len(draft.Reason) > maxReason {
		draft.Reason = strings.ToValidUTF8(draft.Reason[:maxReason], "")
	}
	version := Version{
		ID: formatID(at, snapshot.Serial), Time: time.Unix(0, at.UnixNano()).UTC(), Serial: snapshot.Serial,
		Lineage: snapshot.Lineage, Digest: snapshot.Digest, Size: int64(len(snapshot.Data)),
		Encrypted: snapshot.Encrypted, RunID: draft.RunID, Reason: draft.Reason, Scope: key.Scope,
		Owners: draft.Owners,
	}
	packed, err := packVersion(version, snapshot.Data)
	if err != nil {
		return Version{}, err
	}
	return version, s.blobs.PutBytes(ctx, key.versionsPrefix()+version.ID, packed)
}

func packVersion(v Version, data []byte) ([]byte, error) {
	text, err := json.Marshal(note{
		Lineage: v.Lineage, Digest: v.Digest, Size: v.Size, Encrypted: v.Encrypted, RunID: v.RunID, Reason: v.Reason, Scope: v.Scope,
		Owners: v.Owners,
	})
	if err != nil {
		return nil, err
	}
	return compress(data, gzip.Header{Name: "terraform.tfstate", ModTime: v.Time,
		Extra: append(binary.LittleEndian.AppendUint16([]byte(noteID), uint16(len(text))), text...)})
}

// storedState is the content of a version while it is read.
type storedState struct {
	io.Reader
	io.Closer
}

// openVersion reads a version's note; the content is still to be read and verified.
func (s *Store) openVersion(ctx context.Context, key Key, id string) (Version, *storedState, error) {
	at, serial, err := parseID(id)
	if err != nil {
		return Version{}, nil, fmt.Errorf("%w: %w", ErrNoVersion, err)
	}
	version := Version{ID: id, Time: at, Serial: serial}
	sealed, err := s.openBlob(ctx, key.versionsPrefix()+id)
	var broken *blob.SealError
	if errors.As(err, &broken) {
		return version, nil, unreadable(key, "version "+id, err)
	}
	if err != nil {
		return Version{}, nil, err
	}
	content, n, err := readNote(sealed)
	if err != nil {
		return version, nil, errors.Join(unreadable(key, "version "+id, err), sealed.Close())
	}
	version.Lineage, version.Digest, version.Size = n.Lineage, n.Digest, n.Size
	version.Encrypted, version.RunID, version.Reason, version.Scope = n.Encrypted, n.RunID, n.Reason, n.Scope
	version.Owners = n.Owners
	return version, &storedState{Reader: content, Closer: sealed}, nil
}

func readNote(packed io.Reader) (io.Reader, note, error) {
	var n note
	content, err := gzip.NewReader(packed)
	if err != nil {
		return nil, n, fmt.Errorf("it is not compressed with gzip: %w", err)
	}
	extra := content.Extra
	if len(extra) < 4 || string(extra[:2]) != noteID || int(binary.LittleEndian.Uint16(extra[2:4])) != len(extra)-4 {
		return nil, n, errors.New("it lacks its note")
	}
	if err := json.Unmarshal(extra[4:], &n); err != nil {
		return nil, n, fmt.Errorf("read its note: %w", err)
	}
	return content, n, nil
}

func formatID(at time.Time, serial uint64) string {
	return fmt.Sprintf("%020d-%d", at.UnixNano(), serial)
}

func parseID(id string) (time.Time, uint64, error) {
	nanoseconds, serial, ok := strings.Cut(id, "-")
	n, err := strconv.ParseInt(nanoseconds, 10, 64)
	if !ok || err != nil || len(nanoseconds) != 20 {
		return time.Time{}, 0, fmt.Errorf("%q is not the id of a version", id)
	}
	count, err := strconv.ParseUint(serial, 10, 64)
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("%q is not the id of a version", id)
	}
	return time.Unix(0, n).UTC(), count, nil
}

// Find returns the newest stored version with that digest and its content, or ErrNoVersion.
func (s *Store) Find(ctx context.Context, key Key, digest string) (Version, []byte, error) {
	for version, err := range s.Versions(ctx, key) {
		if err != nil && !damaged(err) {
			return Version{}, nil, err
		}
		if err == nil && version.Digest == digest {
			return s.ReadVersion(ctx, key, version.ID)
		}
	}
	return Version{}, nil, fmt.Errorf("find the version of the state of %s with digest %.19s: %w", key, digest, ErrNoVersion)
}
