// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// once does a piece of work for all concurrent callers, in this process and others.
func (s *Store) once(ctx context.Context, key string, do func(context.Context) error) error {
	return s.flights.Do(ctx, key, func(ctx context.Context) error { return s.alone(ctx, key, do) })
}

// alone excludes other processes from the same work.
func (s *Store) alone(ctx context.Context, key string, do func(context.Context) error) error {
	lock := flock.New(filepath.Join(s.dir, stagingName, key+".lock"))
	if locked, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil || !locked {
		return fmt.Errorf("wait for another process to fetch the provider: %w", err)
	}
	defer lock.Unlock() //nolint:errcheck // the end of the process unlocks, too
	return do(ctx)
}

// digest makes a name for paths.
func digest(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil))[:32]
}
