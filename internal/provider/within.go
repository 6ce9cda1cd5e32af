// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package provider

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

// within does work that fills a directory, and ends it when that gets larger than a package can be.
func (s *Store) within(ctx context.Context, dir string, work func(context.Context) error) error {
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
			if bytes, files := measure(dir); bytes > s.maxBytes || files > 2*maxPackageFiles {
				cancel(fmt.Errorf("the download was ended: it had unpacked to more than %d MiB or %d files, which no provider has", s.maxBytes>>20, 2*maxPackageFiles))
			}
		}
	})
	err := work(ctx)
	cancel(nil)
	watch.Wait()
	return err
}

// measure counts what is in a directory. What comes and goes meanwhile counts or does not.
func measure(dir string) (bytes int64, files int) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error { // what cannot be read now can the next time
		if err != nil {
			return nil //nolint:nilerr // it is gone, or not yet there
		}
		if files++; files > 2*maxPackageFiles {
			return fs.SkipAll
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes, files
}
