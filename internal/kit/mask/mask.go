// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// Mark replaces secrets in logs.
	Mark = "(sensitive)"
	// MaxDepth is the number of nested encodings that are decoded.
	MaxDepth = 6
	// maxViews limits the combinations of encodings for one piece of text.
	maxViews = 24
	// maxPiece is the size of text that is decoded at once. Pieces of a longer text overlap by more
	// than any secret except whole files.
	maxPiece, overlap = 1 << 20, 256 << 10
)

// Masker hides secrets. The nil Masker hides nothing.
type Masker struct {
	mark  string
	rules atomic.Pointer[rules]
	// Before is called before each use, to add secrets that became known meanwhile; it may be nil.
	// It is set before the first use.
	Before func()

	mu      sync.Mutex
	secrets *Secrets
}

// rules find the secrets of a Masker at one time.
type rules struct {
	finder   *finder
	decoders []decoder
	mark     string
}

// Masker returns a Masker for the current secrets that replaces them by the mark.
func (s *Secrets) Masker(mark string) *Masker {
	m := &Masker{mark: mark, secrets: &Secrets{public: s.public, found: maps.Clone(s.found), whole: maps.Clone(s.whole)}}
	m.compile()
	return m
}

// Add adds a secret like [Secrets.Add]. A use that began before may not hide it.
func (m *Masker) Add(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.secrets.Add(text)
	m.compile()
}

func (m *Masker) compile() {
	patterns := m.secrets.patterns()
	m.rules.Store(&rules{finder: newFinder(patterns), decoders: decodersFor(patterns, leastBlob), mark: m.mark})
}

// current are the rules for one use; nil for nothing to hide.
func (m *Masker) current() *rules {
	if m == nil {
		return nil
	}
	if m.Before != nil {
		m.Before()
	}
	return m.rules.Load()
}

// Text returns the text with the mark in place of each secret.
func (m *Masker) Text(text string) string { return m.current().text(text, prose) }

func (r *rules) text(text string, k kind) string {
	if r.idle() {
		return text
	}
	parts := r.secret([]byte(text), k)
	if len(parts) == 0 {
		return text
	}
	var out strings.Builder
	at := 0
	for _, p := range parts {
		out.WriteString(text[at:p.begin])
		out.WriteString(r.mark)
		at = p.end
	}
	out.WriteString(text[at:])
	return out.String()
}

// Hides reports whether the text contains a secret.
func (m *Masker) Hides(text string) bool {
	r := m.current()
	return !r.idle() && len(r.secret([]byte(text), prose)) > 0
}

// HidesName is Hides for a name, such as that of an attribute; common words do not count.
func (m *Masker) HidesName(name string) bool {
	r := m.current()
	return !r.idle() && len(r.secret([]byte(name), naming)) > 0
}

func (r *rules) idle() bool { return r == nil || len(r.finder.patterns) == 0 }

// pieces calls look for each piece of a text with its offset, until it returns false.
func pieces(text []byte, look func(piece []byte, begin int) bool) {
	for begin := 0; ; begin += maxPiece - overlap {
		end := min(begin+maxPiece, len(text))
		if !look(text[begin:end], begin) || end == len(text) {
			return
		}
	}
}

// secret returns the parts of a text to mask, in order, without overlaps.
func (r *rules) secret(text []byte, k kind) []span {
	var parts []span
	pieces(text, func(piece []byte, begin int) bool {
		r.views(piece, func(v *view) bool {
			r.finder.each(v.text, func(p *pattern, at span) bool {
				if p.standsIn(v.text, at, k) {
					hidden := v.origin(p.rim(v.text, at))
					parts = append(parts, span{begin + hidden.begin, begin + hidden.end})
				}
				return true
			})
			return true
		})
		return true
	})
	slices.SortFunc(parts, span.compare)
	merged := parts[:0]
	for _, p := range parts {
		if last := len(merged) - 1; last >= 0 && p.begin < merged[last].end {
			merged[last].end = max(merged[last].end, p.end)
		} else {
			merged = append(merged, p)
		}
	}
	return merged
}

// suspects reports whether the text may contain any secret, in any context.
func (r *rules) suspects(text []byte) bool {
	found := false
	pieces(text, func(piece []byte, _ int) bool {
		r.views(piece, func(v *view) bool {
			r.finder.each(v.text, func(*pattern, span) bool {
				found = true
				return false
			})
			return !found
		})
		return !found
	})
	return found
}

// views calls look for a text and everything that it decodes to, by depth, until it returns false.
func (r *rules) views(text []byte, look func(v *view) bool) {
	known := make([]*view, 1, 4)
	known[0] = &view{text: text}
	for i := 0; i < len(known); i++ {
		if !look(known[i]) {
			return
		}
		for _, decode := range r.decoders {
			if known[i].depth == MaxDepth || len(known) == maxViews {
				break
			}
			decoded := decode(known[i])
			if decoded == nil || slices.ContainsFunc(known, func(v *view) bool { return bytes.Equal(v.text, decoded.text) }) {
				continue
			}
			known = append(known, decoded)
		}
	}
}

// rim adds the adjacent base64 characters that contain bits of the secret, and the padding.
func (p *pattern) rim(text []byte, at span) span {
	if p.left && at.begin > 0 && base64Values[text[at.begin-1]] >= 0 {
		at.begin--
	}
	if p.right && at.end < len(text) && base64Values[text[at.end]] >= 0 {
		at.end++
	}
	for (p.left || p.right) && at.end < len(text) && text[at.end] == '=' {
		at.end++
	}
	return at
}
