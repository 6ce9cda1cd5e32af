// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"archive/zip"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

// bigArchive makes an archive of random bytes on disk.
func bigArchive(t testing.TB, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "big.zip")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(file)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "terraform-provider-thing_v1.0.0", Method: zip.Store})
	if err == nil {
		_, err = io.CopyN(w, rand.NewChaCha8([32]byte{}), size)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	return path
}

func TestMemoryIsFlatOverLargeArchives(t *testing.T) {
	size := int64(64 << 20)
	if os.Getenv("YUBA_TEST_LARGE") != "" {
		size = 1 << 30
	}
	w := newWorld(t)
	w.origin.PublishRelease("acme/thing", "1.0.0", registrytest.Release{Files: map[string]string{linux.String(): bigArchive(t, size)}})
	runtime.GC()
	var before, peak runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				var now runtime.MemStats
				if runtime.ReadMemStats(&now); now.HeapInuse > peak.HeapInuse {
					peak = now
				}
			}
		}
	}()
	began := time.Now()
	f, err := w.Open(t.Context(), w.thing("1.0.0"), w.thing("1.0.0").Archive(linux))
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, f.Content)
	close(stop)
	<-done
	if err != nil || n < size || f.Content.Close() != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	more := int64(peak.HeapInuse) - int64(before.HeapInuse)
	t.Logf("%d MiB in %s, with at most %.1f MiB more memory", size>>20, time.Since(began).Round(time.Millisecond), float64(more)/(1<<20))
	if more > 16<<20 {
		t.Errorf("%d bytes more memory", more)
	}
}
