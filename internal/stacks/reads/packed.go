// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// maxPacked bounds the remembered archives: some 200 bytes each.
const maxPacked = 10_000

// packedPrograms remembers the archives of inline programs by their content: to pack one is nearly half of a
// pass that finds nothing to do.
type packedPrograms struct {
	mu    sync.Mutex
	known map[programKey]run.Artifact
}

type programKey [sha256.Size]byte

func keyOf(files map[string]string) (key programKey) {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, text := range []string{name, files[name]} {
			sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text)))) //nolint:errcheck // a hash never fails
			sum.Write([]byte(text))                                          //nolint:errcheck // a hash never fails
		}
	}
	return programKey(sum.Sum(nil))
}

func (p *packedPrograms) get(key programKey) (run.Artifact, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, ok := p.known[key]
	return a, ok
}

func (p *packedPrograms) put(key programKey, a run.Artifact) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxPacked {
		p.known = map[programKey]run.Artifact{}
	}
	p.known[key] = a
}
