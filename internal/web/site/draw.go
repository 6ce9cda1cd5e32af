// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"regexp"
	"sync"
	"time"
)

// drawn is a part of a page.
type drawn struct {
	ID   string        `json:"id"`
	HTML template.HTML `json:"html"`
	// Mark identifies the content.
	Mark string `json:"mark"`
}

// ages matches times, whose words the browser keeps current.
var ages = regexp.MustCompile(`(<time [^>]*>)[^<]*`)

// draw draws the parts of a page.
func (s *Site) draw(p *Page) ([]drawn, error) {
	parts := make([]drawn, 0, len(p.Parts))
	for _, part := range p.Parts {
		var buffer bytes.Buffer
		if err := s.views.ExecuteTemplate(&buffer, part.View, part.Data); err != nil {
			return nil, fmt.Errorf("draw part %s: %w", part.ID, err)
		}
		text := withRoles(buffer.Bytes())
		// The age of something is no change of it.
		sum := sha256.Sum256(ages.ReplaceAll(text, []byte("$1")))
		parts = append(parts, drawn{part.ID, template.HTML(text), hex.EncodeToString(sum[:6])}) //nolint:gosec // html/template has just written it
	}
	return parts, nil
}

// made is a page that was made for one tab, and is good for others until something changes.
type made struct {
	page    *Page
	parts   []drawn
	changes uint64
	at      time.Time
}

const (
	// maxMade bounds the pages that are kept for other tabs, sharedFor how long.
	maxMade   = 32
	sharedFor = 5 * time.Second
)

// madePages are the pages that were made last.
type madePages struct {
	now func() time.Time

	mu    sync.Mutex
	pages map[string]made
}

func (m *madePages) get(key string, changes uint64) (made, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	page, ok := m.pages[key]
	return page, ok && page.changes == changes && m.now().Sub(page.at) < sharedFor
}

func (m *madePages) put(key string, page made) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.pages) >= maxMade {
		clear(m.pages)
	}
	m.pages[key] = page
}
