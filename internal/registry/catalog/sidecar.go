// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

const (
	// maxSidecar limits a sidecar in bytes.
	maxSidecar = 32 << 20
	// maxNotice limits a notice in bytes.
	maxNotice = 64 << 10
	// maxAdopt limits reading an archive of another program.
	maxAdopt = 10 * time.Minute
	// noticesDir is the directory of notices beside sidecars. A version never has that name.
	noticesDir = "notices"
)

// sidecar is the object beside an archive, with what only this program knows of it.
type sidecar struct {
	Digest    string          `json:"digest"`
	Size      int64           `json:"size"`
	Published time.Time       `json:"published"`
	By        string          `json:"by,omitempty"`
	From      *Origin         `json:"from,omitempty"`
	Problem   string          `json:"problem,omitempty"`
	Module    *inspect.Module `json:"module,omitempty"`
}

func (s *sidecar) facts() *facts {
	return &facts{digest: s.Digest, by: s.By, problem: s.Problem, published: s.Published, from: s.From, size: s.Size}
}

// errUnusable means that there is no usable sidecar.
var errUnusable = errors.New("nothing is recorded of the release")

func (c *Catalog) readSidecar(ctx context.Context, v layout.ModuleVersion) (*sidecar, error) {
	text, err := c.bucket.Get(ctx, v.OwnKey(), maxSidecar)
	var tooLarge *blob.TooLargeError
	if errors.Is(err, blob.ErrNotFound) || errors.As(err, &tooLarge) {
		return nil, fmt.Errorf("%w: %w", errUnusable, err)
	}
	if err != nil {
		return nil, err
	}
	var s sidecar
	if err := json.Unmarshal(text, &s); err != nil || s.Digest == "" {
		return nil, fmt.Errorf("%w: %s is not readable: %v", errUnusable, v.OwnKey(), err)
	}
	return &s, nil
}

// writeSidecar replaces a sidecar.
func (c *Catalog) writeSidecar(ctx context.Context, v layout.ModuleVersion, s *sidecar) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return c.bucket.Put(ctx, v.OwnKey(), bytes.NewReader(text))
}

// settleSidecar records what is known of an archive that exists, and returns what the bucket has then.
// It never replaces a sidecar about the same bytes by one that says less, or something else, about who
// published them: another server may have written it a moment ago. Only if outdated is true, it writes
// such a sidecar again: then it is older than the archive, and would be read in vain forever.
func (c *Catalog) settleSidecar(ctx context.Context, v layout.ModuleVersion, s *sidecar, outdated bool) (*sidecar, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	err = c.bucket.Create(ctx, v.OwnKey(), bytes.NewReader(text))
	if !errors.Is(err, blob.ErrExists) {
		return s, err
	}
	known, err := c.readSidecar(ctx, v)
	switch {
	case err != nil && !errors.Is(err, errUnusable):
		return nil, err
	case err != nil || known.Digest != s.Digest || known.Size != s.Size: // about other bytes
		return s, c.writeSidecar(ctx, v, s)
	case !outdated:
		return known, nil
	}
	again := *s
	again.Published, again.By, again.From = known.Published, known.By, known.From
	return &again, c.writeSidecar(ctx, v, &again)
}

// learned is the stamp of sidecars that this process has just written: it is not that of the bucket,
// so the next list reads them again.
var learned = stamp{size: -1}

// adopt reads an archive that another program wrote, or whose sidecar is missing or older, and
// records it. It keeps what a sidecar says of the same bytes.
func (c *Catalog) adopt(ctx context.Context, v layout.ModuleVersion, r *record, before *sidecar) (*sidecar, error) {
	result, err, _ := c.flights.Do("adopt "+v.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxAdopt) // others wait for it, too
		defer cancel()
		end, err := c.uploads.Reading(ctx)
		if err != nil {
			return nil, err
		}
		defer end()
		side, err := c.inspectStored(ctx, v)
		if err != nil {
			return nil, err
		}
		side.Published = r.written
		if before != nil && before.Digest == side.Digest {
			side.Published, side.By, side.From = before.Published, before.By, before.From
		}
		if settled, err := c.settleSidecar(ctx, v, side, before != nil); err != nil {
			// The bucket may be read-only for this program.
			c.opts.Log.Warn("recording what is known of a module failed", "module", v.String(), "error", err)
		} else {
			side = settled
		}
		c.change(v, func(r *record) { r.facts, r.side, r.size = side.facts(), learned, side.Size })
		return side, nil
	})
	if err != nil {
		return nil, err
	}
	return result.(*sidecar), nil
}

// inspectStored reads an archive in the bucket.
func (c *Catalog) inspectStored(ctx context.Context, v layout.ModuleVersion) (*sidecar, error) {
	content, err := c.bucket.Open(ctx, v.Key())
	if errors.Is(err, blob.ErrNotFound) {
		return nil, fmt.Errorf("%w version as %s in the registry any more", ErrNone, v)
	}
	if err != nil {
		return nil, err
	}
	defer content.Close()
	sum := sha256.New()
	count := &counter{r: io.TeeReader(content, sum)}
	s := &sidecar{}
	s.Module, err = inspect.Read(ctx, count, c.limits)
	var refused *inspect.Error
	switch {
	case count.err != nil:
		return nil, count.err
	case errors.As(err, &refused):
		s.Problem = refused.Error()
	case err != nil:
		return nil, err
	case s.Module.Stripped != "":
		s.Problem = fmt.Sprintf("the module is not at the archive's root, but in %s: publish it with yuba, which moves it", s.Module.Stripped)
	}
	if _, err := io.Copy(io.Discard, count); err != nil { // a refused archive was not read to its end
		return nil, err
	}
	s.Digest, s.Size = "sha256:"+hex.EncodeToString(sum.Sum(nil)), count.n
	return s, nil
}

// counter counts bytes, and remembers an error of the reader.
type counter struct {
	r   io.Reader
	n   int64
	err error
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}
