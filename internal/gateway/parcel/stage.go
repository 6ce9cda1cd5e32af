// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package parcel

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

const (
	// stagePrefix is the place of members until the manifest has been checked.
	stagePrefix = "imports/"
	// staleStage is the age of members of an import that ended with its server. No import lasts as
	// long.
	staleStage = 24 * time.Hour
	// maxHeld limits the memory for small members, maxHeldEach each of them: most are small, and need
	// not be stored twice.
	maxHeld     = 32 * mib
	maxHeldEach = 256 << 10
)

// staged is a member of a parcel that is not published yet: in memory, or a blob.
type staged struct {
	name, sum string
	data      []byte
	key       string
}

// stage has the members of one parcel, in their order.
type stage struct {
	blobs   Blobs
	prefix  string
	members []*staged
	byName  map[string]*staged
	held    int
}

func newStage(blobs Blobs) *stage {
	return &stage{blobs: blobs, prefix: stagePrefix + rand.Text(), byName: map[string]*staged{}}
}

// add takes a member.
func (g *stage) add(ctx context.Context, name string, content io.Reader) error {
	m := &staged{name: name}
	first, err := io.ReadAll(io.LimitReader(content, maxHeldEach+1))
	if err != nil {
		return err
	}
	if len(first) <= maxHeldEach && g.held+len(first) <= maxHeld {
		m.data = first
		g.held += len(first)
	} else {
		m.key = fmt.Sprintf("%s/%06d", g.prefix, len(g.members))
	}
	g.members, g.byName[name] = append(g.members, m), m
	if m.key == "" {
		return nil
	}
	return g.blobs.Put(ctx, m.key, io.MultiReader(bytes.NewReader(first), content))
}

func (g *stage) open(ctx context.Context, m *staged) (io.ReadCloser, error) {
	if m.key == "" {
		return io.NopCloser(bytes.NewReader(m.data)), nil
	}
	return g.blobs.Open(ctx, m.key)
}

func (g *stage) read(ctx context.Context, m *staged) ([]byte, error) {
	content, err := g.open(ctx, m)
	if err != nil {
		return nil, err
	}
	defer content.Close() //nolint:errcheck // read only
	return io.ReadAll(content)
}

// discard deletes the members, even if the import was interrupted.
func (g *stage) discard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	for _, m := range g.members {
		if m.key != "" && g.blobs.Delete(ctx, m.key) != nil {
			return // the next import sweeps it
		}
	}
}

// sweep deletes what imports left behind whose server ended.
func sweep(ctx context.Context, blobs Blobs) error {
	for info, err := range blobs.List(ctx, stagePrefix) {
		if err != nil {
			return err
		}
		if time.Since(info.Modified) > staleStage {
			if err := blobs.Delete(ctx, info.Key); err != nil {
				return err
			}
		}
	}
	return nil
}

// limitOf is the limit of a member; it refuses unknown ones.
func (s *Store) limitOf(name string) (int64, error) {
	dir, rest, _ := strings.Cut(name, "/")
	switch {
	case name == lockFileName:
		return maxLockFile, nil
	case dir == statesDir:
		return state.MaxSize + mib, nil // in its compressed form
	case dir == artifactsDir:
		if _, err := blob.ArtifactKey(digestPrefix + rest); err != nil {
			return 0, bad("%v", err)
		}
		return s.MaxArtifact, nil
	case dir == runsDir:
		if id, part, _ := strings.Cut(rest, "/"); isRun(id) && isPart(part) {
			return partLimit(part), nil
		}
	}
	return 0, bad("it has an unknown member %q", name)
}
