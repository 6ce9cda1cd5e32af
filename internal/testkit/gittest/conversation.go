// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gittest

import (
	"bytes"
	"sync"
	"time"
)

// conversation observes a client and git: a fetch ends with a pack, and a clone is a fetch by a client
// that did not name any objects.
type conversation struct {
	server     *Server
	repository string

	mu     sync.Mutex
	tail   []byte
	has    bool
	packed bool
}

// said observes the client.
func (c *conversation) said(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.has = c.has || bytes.Contains(p, []byte("have "))
}

// answered observes git, piece by piece.
func (c *conversation) answered(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.packed {
		return
	}
	begin := []byte("PACK\x00\x00\x00\x02")
	c.tail = append(c.tail, p...)
	if !bytes.Contains(c.tail, begin) {
		c.tail = bytes.Clone(c.tail[max(0, len(c.tail)-len(begin)+1):])
		return
	}
	c.packed, c.tail = true, nil
	c.server.count(c.repository, func(counts *Counts) {
		counts.Fetches++
		if !c.has {
			counts.Clones++
		}
	})
}

// over records the time of a fetch.
func (c *conversation) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.packed {
		c.server.mu.Lock()
		defer c.server.mu.Unlock()
		c.server.fetched[repositoryName(c.repository)] = time.Now()
	}
}

// listener is a writer that calls a function.
type listener func(p []byte)

func (l listener) Write(p []byte) (int, error) {
	l(p)
	return len(p), nil
}
