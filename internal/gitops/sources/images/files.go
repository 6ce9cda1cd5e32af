// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/gitops/sources/images/setters"
)

// maxFile is the size in bytes up to which files are searched for markers.
const maxFile = 2 << 20

// files changes the files of one attempt.
type files struct {
	setters *setters.Setters
	message func(*files) (string, error)
	changes map[string][]setters.Change
	// left are files that were left alone, with the reason; unknown are setters that nobody has.
	left    map[string]string
	unknown map[string]bool
}

// File implements git.Editor.
func (f *files) File(path string, content []byte) ([]byte, bool) {
	result := f.setters.Edit(path, content)
	if result.Problem != "" {
		f.left[path] = result.Problem
	}
	for _, setter := range result.Unknown {
		f.unknown[setter] = true
	}
	if result.Content == nil {
		return nil, false
	}
	f.changes[path] = result.Changes
	return result.Content, true
}

// TooBig implements git.Editor.
func (f *files) TooBig(path string, size int64) {
	f.left[path] = fmt.Sprintf("it has %d bytes; the limit is %d", size, maxFile)
}

// Message implements git.Editor.
func (f *files) Message() (string, error) { return f.message(f) }

// maxNamed limits the files and setters in a status.
const maxNamed = 5

// notes says what was left alone; empty if nothing was.
func (f *files) notes() string {
	var notes []string
	for _, path := range slices.Sorted(maps.Keys(f.left)) {
		notes = append(notes, fmt.Sprintf("%q: %s", path, f.left[path]))
	}
	text := ""
	if n := len(notes); n > 0 {
		text = "; left alone: " + strings.Join(notes[:min(n, maxNamed)], "; ")
		if n > maxNamed {
			text += fmt.Sprintf("; and %d more files", n-maxNamed)
		}
	}
	if n := len(f.unknown); n > 0 {
		names := slices.Sorted(maps.Keys(f.unknown))
		text += "; markers without a selected policy that has an image: " + strings.Join(names[:min(n, maxNamed)], ", ")
		if n > maxNamed {
			text += fmt.Sprintf(" and %d more", n-maxNamed)
		}
	}
	return text
}
