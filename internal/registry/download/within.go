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

// growthInterval is how often the size of a download is measured. An archive of a few MiB can
// unpack to more than any disk holds, and unpacking does not check that.
const growthInterval = 500 * time.Millisecond

// Size is the size of a directory.
type Size struct {
	Bytes int64
	Files int
}

// Within does work that fills a directory, and cancels it when the directory exceeds the limit.
// whatHas names the kind of thing in the error.
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
				cancel(fmt.Errorf("the download was cancelled: it had unpacked to more than %d MiB or %d files, which no %s has", most.Bytes>>20, most.Files, whatHas))
			}
		}
	})
	err := work(ctx)
	cancel(nil)
	watch.Wait()
	return err
}

// measure counts a directory's files and bytes, up to one file above the limit. It may miss files
// that change meanwhile.
func measure(dir string, most int) (has Size) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error { // the next measurement reads what this one could not
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
