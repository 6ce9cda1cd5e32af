// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/usertest"
)

// A server that does not run as root removes a package even when the modes of its directories keep
// their owner out.
func TestALockedPackageIsRemoved(t *testing.T) {
	for sentence, remove := range map[string]func(b *bench, c *Scope, name string) error{
		"when it was not used for long": func(b *bench, _ *Scope, _ string) error {
			b.wait(31 * 24 * time.Hour)
			_, err := b.Collect(DefaultLimits())
			return err
		},
		"when it was never finished": func(b *bench, c *Scope, name string) error {
			b.wait(2 * leftAfter)
			if err := os.Remove(c.recordPath(name)); err != nil {
				return err
			}
			_, err := b.Collect(DefaultLimits())
			return err
		},
		"when it is damaged": func(b *bench, c *Scope, name string) error {
			if _, err := b.copied(&Module{Answer: Answer{Package: name}, scope: c}, math.MaxInt64); !errors.Is(err, ErrDamaged) {
				return errors.Join(errors.New("it is used"), err)
			}
			return nil
		},
		"when it was never finished and comes again": func(b *bench, c *Scope, name string) error {
			if err := os.Remove(c.recordPath(name)); err != nil {
				return err
			}
			b.kept(c)
			return os.RemoveAll(c.packagePath(name)) // the new one is not locked
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			usertest.Become(t)
			b := newBench(t)
			scope := b.Scope("")
			name := b.kept(scope)
			path := scope.packagePath(name)
			if err := errors.Join(os.Chmod(filepath.Join(path, "sub"), 0), os.Chmod(path, 0)); err != nil {
				t.Fatal(err)
			}
			if err := remove(b, scope, name); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it is there: %v", err)
			}
		})
	}
}

// kept keeps a package, without a fetch and its goroutine, and returns the name.
func (b *bench) kept(c *Scope) string {
	b.t.Helper()
	dir := b.t.TempDir()
	if err := b.make(filepath.Join(dir, "m")); err != nil {
		b.t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.t.Fatal(err)
	}
	defer root.Close()
	name, err := c.take(b.t.Context(), root, "m")
	if err != nil {
		b.t.Fatal(err)
	}
	return name
}
