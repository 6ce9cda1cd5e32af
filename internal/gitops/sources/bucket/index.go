// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

const (
	// maxIgnoreFile limits .sourceignore.
	maxIgnoreFile = 1 << 20
	// maxName and maxPart are the limits of file systems, in bytes.
	maxName, maxPart = 1024, 255
	// seenPerCounted limits the listed objects, in terms of the selected ones.
	seenPerCounted = 10
)

// index contains the selected objects, sorted by name.
type index struct{ objects []object }

// read lists the bucket.
func (b *Bucket) read(ctx context.Context, s store) (*index, error) {
	matcher, err := b.ignored(ctx, s)
	if err != nil {
		return nil, err
	}
	limits := b.Limits.WithDefaults()
	x, seen, size := &index{}, int64(0), int64(0)
	err = s.list(ctx, b.Prefix, func(o object) error {
		if seen++; seen > seenPerCounted*limits.MaxEntries {
			return &archive.LimitError{What: "the number of objects, excluded ones included,", Limit: seenPerCounted * limits.MaxEntries}
		}
		if strings.HasSuffix(o.key, "/") || o.key == sourceignore.IgnoreFile || matcher.Match(strings.Split(o.key, "/"), false) {
			return nil
		}
		if err := checkObject(o); err != nil {
			return err
		}
		if size += o.size; size > limits.MaxUnpacked {
			return &archive.LimitError{What: "the size of all objects in bytes", Limit: limits.MaxUnpacked}
		}
		if x.objects = append(x.objects, o); int64(len(x.objects)) > limits.MaxEntries {
			return &archive.LimitError{What: "the number of objects", Limit: limits.MaxEntries}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(x.objects, func(a, b object) int { return strings.Compare(a.key, b.key) })
	return x, x.check()
}

// ignored reads the patterns of excluded objects. Unlike for repositories, the default is none.
func (b *Bucket) ignored(ctx context.Context, s store) (gitignore.Matcher, error) {
	var patterns []gitignore.Pattern
	file, err := s.peek(ctx, sourceignore.IgnoreFile)
	switch {
	case err == nil:
		defer file.body.Close() //nolint:errcheck // read only
		text, err := upstream.ReadAll(file.body, "the size of "+sourceignore.IgnoreFile+" in bytes", maxIgnoreFile)
		if err != nil {
			return nil, err
		}
		patterns = sourceignore.ReadPatterns(bytes.NewReader(text), nil)
	case !errors.Is(err, errGone):
		return nil, err
	}
	patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(b.Ignore), nil)...)
	return sourceignore.NewMatcher(patterns), nil
}

// checkObject returns why an object cannot be a file.
func checkObject(o object) error {
	reason := ""
	switch {
	case !utf8.ValidString(o.key), strings.ContainsFunc(o.key, unicode.IsControl), strings.Contains(o.key, `\`):
		reason = "the name contains a backslash or unprintable characters"
	case strings.HasPrefix(o.key, "/"):
		reason = "the name begins with a slash"
	case path.Clean(o.key) != o.key, o.key == ".", o.key == "..", strings.HasPrefix(o.key, "../"):
		reason = "the name has parts that are empty, '.' or '..'"
	case len(o.key) > maxName, slices.ContainsFunc(strings.Split(o.key, "/"), func(part string) bool { return len(part) > maxPart }):
		reason = fmt.Sprintf("the name has more than %d bytes, or a part of it more than %d", maxName, maxPart)
	case o.etag == "":
		reason = "the store reports no ETag, which is needed to detect changes"
	case o.size < 0:
		reason = "the store reports no size"
	}
	if reason == "" {
		return nil
	}
	return &archive.EntryError{Name: shorten(o.key), Reason: reason + "; rename it, or exclude it with spec.ignore or .sourceignore"}
}

func shorten(key string) string {
	if len(key) > 100 {
		return key[:100] + "…"
	}
	return key
}

// check returns an object that cannot be in one tree with the others.
func (x *index) check() error {
	files := make(map[string]bool, len(x.objects))
	for _, o := range x.objects {
		if files[o.key] {
			return &archive.EntryError{Name: shorten(o.key), Reason: "the store lists it twice"}
		}
		files[o.key] = true
	}
	for _, o := range x.objects {
		for dir := path.Dir(o.key); dir != "."; dir = path.Dir(dir) {
			if files[dir] {
				return &archive.EntryError{Name: shorten(o.key), Reason: fmt.Sprintf("there is an object %q, too, but a name cannot be both a file and a directory; "+
					"rename one of them, or exclude it with spec.ignore or .sourceignore", shorten(dir))}
			}
		}
	}
	return nil
}

// revision is computed as by Flux: a digest over lines of a name and an ETag each.
func (x *index) revision() string {
	sum := sha256.New()
	for _, o := range x.objects {
		fmt.Fprintf(sum, "%s %s\n", o.key, o.etag)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// contentKey is a digest that is unambiguous for all names and ETags.
func (x *index) contentKey() string {
	sum := sha256.New()
	for _, o := range x.objects {
		fmt.Fprintf(sum, "%d:%s%d:%s%d:%s%d\n", len(o.key), o.key, len(o.etag), o.etag, len(o.generation), o.generation, o.size)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
