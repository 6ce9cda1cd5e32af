// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
)

func plains(t *testing.T, test func(t *testing.T, p *Plain)) {
	for name, url := range map[string]string{"directory": "file://" + t.TempDir(), "cloud": "mem://"} {
		t.Run(name, func(t *testing.T) {
			p, err := OpenPlain(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close() //nolint:errcheck // a test
			test(t, p)
		})
	}
}

func TestPlainObjectsAreAsWritten(t *testing.T) {
	dir := t.TempDir()
	p, err := OpenPlain(t.Context(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Put(t.Context(), "modules/acme/a.tar.gz", strings.NewReader("bytes")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "modules/acme/a.tar.gz")); err != nil || string(text) != "bytes" {
		t.Errorf("%q, %v", text, err)
	}
	// Another program's files count, its directories and hidden files do not.
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "modules/empty"), 0o700), os.WriteFile(filepath.Join(dir, "modules/.b"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "modules/c"), []byte("c"), 0o600)); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for info, err := range p.List(t.Context(), "modules/") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	if got := strings.Join(keys, " "); got != "modules/acme/a.tar.gz modules/c" {
		t.Error(got)
	}
}

func TestCreateNeverReplaces(t *testing.T) {
	plains(t, func(t *testing.T, p *Plain) {
		if err := p.Create(t.Context(), "a/b", iotest.ErrReader(errors.New("the client went away"))); err == nil {
			t.Error("a broken upload succeeded")
		}
		var created atomic.Int32
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				switch err := p.Create(t.Context(), "a/b", strings.NewReader(fmt.Sprint(i))); {
				case err == nil:
					created.Add(1)
				case !errors.Is(err, ErrExists):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if created.Load() != 1 {
			t.Errorf("%d writers created it", created.Load())
		}
		before, err := p.Get(t.Context(), "a/b", 10)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Create(t.Context(), "a/b", strings.NewReader("other")); !errors.Is(err, ErrExists) {
			t.Errorf("a second writer: %v", err)
		}
		if after, err := p.Get(t.Context(), "a/b", 10); err != nil || string(after) != string(before) {
			t.Errorf("%q became %q, %v", before, after, err)
		}
	})
}
