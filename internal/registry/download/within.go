// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package download

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"
)

// growthInterval is how often it is looked how large a download has become. An archive of a few MiB can be made to unpack
// to more than any disk has, and whoever unpacks it does not ask.
const growthInterval = 500 * time.Millisecond

// Size is how much a directory has.
type Size struct {
	Bytes int64
	Files int
}

// Within does work that fills a directory, and ends it when that gets larger than what is fetched can be. The error says
// what of: "which no provider has".
func Within(ctx context.Context, dir string, most Size, whatHas string, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		ticker := time.NewTicker(growthInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if has := measure(dir, most.Files); has.Bytes > most.Bytes || has.Files > most.Files {
				cancel(fmt.Errorf("the download was ended: it had unpacked to more than %d MiB or %d files, which no %s has", most.Bytes>>20, most.Files, whatHas))
			}
		}
	})
	err := work(ctx)
	cancel(nil)
	watch.Wait()
	return err
}

// measure counts what is in a directory, up to one file too many. What comes and goes meanwhile counts or does not.
func measure(dir string, most int) (has Size) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error { // what cannot be read now can the next time
		if err != nil {
			return nil //nolint:nilerr // it is gone, or not yet there
		}
		if has.Files++; has.Files > most {
			return fs.SkipAll
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			has.Bytes += info.Size()
		}
		return nil
	})
	return has
}
