// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// mounted are the token files of a Pod, which the kubelet replaces.
type mounted struct {
	mask  *mask.Masker
	paths []string
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu   sync.Mutex
	seen []os.FileInfo
}

// mountedLook is how often files are checked while the program prints nothing. The kubelet replaces
// a token every few minutes at most.
const mountedLook = 10 * time.Second

// watch adds the tokens in the files to the mask, now and before each use of the mask: a program
// may print a new token at once.
func watch(masker *mask.Masker, identities []run.Identity, at func(run.Identity) string) *mounted {
	m := &mounted{mask: masker, seen: make([]os.FileInfo, len(identities))}
	for _, i := range identities {
		m.paths = append(m.paths, at(i))
	}
	m.look()
	masker.Before = m.look
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	m.ended.Go(func() {
		ticker := time.NewTicker(mountedLook)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				m.look()
			}
		}
	})
	return m
}

// look reads the files that were replaced.
func (m *mounted) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, path := range m.paths {
		info, err := os.Stat(path)
		if err != nil || m.seen[i] != nil && os.SameFile(info, m.seen[i]) && info.ModTime().Equal(m.seen[i].ModTime()) && info.Size() == m.seen[i].Size() {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the next look tries again
		}
		if token := strings.TrimSpace(string(text)); token != "" {
			m.mask.Add(token)
		}
		m.seen[i] = info
	}
}

func (m *mounted) close() {
	m.stop()
	m.ended.Wait()
}
