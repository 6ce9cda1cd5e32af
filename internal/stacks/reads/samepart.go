// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/yuba-dev/yuba/internal/archive"
)

// hashDirs, hashEntry and hashValues write the input of a part's digest. Statuses contain digests,
// so the format must not change.
func hashDirs(h io.Writer, dirs []string) { fmt.Fprintf(h, "yuba part 1 %q\n", dirs) }

func hashEntry(h io.Writer, f *archive.IndexedFile) {
	fmt.Fprintf(h, "%q %v %v %q %x\n", f.Name, f.Dir, f.Executable, f.Link, f.Sum)
}

func hashValues(h io.Writer, f *archive.IndexedFile) { fmt.Fprintf(h, "values %q %x\n", f.Name, f.Sum) }

// has reports whether the same part, bit by bit, is in this archive, too. Then nothing has to be
// read again.
func (t *tree) has(p *part) bool {
	if t.why != "" || p.digest == "" {
		return false
	}
	h := sha256.New()
	hashDirs(h, p.dirs)
	for _, dir := range p.dirs {
		below := t.index.Below(dir)
		for i := range below {
			hashEntry(h, &below[i])
		}
	}
	for _, name := range p.files {
		f, ok := t.index.Get(name)
		if !ok {
			return false
		}
		hashValues(h, &f)
	}
	return p.digest == "sha256:"+hex.EncodeToString(h.Sum(nil))
}

// place is where a module is, whatever archive it is in.
func (k moduleKey) place() moduleKey {
	k.digest = ""
	return k
}

// asBefore returns the module as last read at this place, if its part has not changed.
func (s *Sources) asBefore(t *tree, key moduleKey) *readModule {
	s.mu.Lock()
	before := s.modules[s.latest[key.place()]]
	s.mu.Unlock()
	if before == nil || !t.has(&before.part) {
		return nil
	}
	return before
}
