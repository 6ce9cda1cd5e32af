// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"encoding/json"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// minShared is the number of changes from which all processors write the document.
const minShared = 500

// Text returns the document as JSON, as [json.Marshal] does. A plan of 10 000 resources has 30 MB, so
// the changes are written by all processors.
func (d *Document) Text() ([]byte, error) {
	if len(d.Changes) < minShared {
		return json.Marshal(d)
	}
	frame := *d
	frame.Changes = []Change{}
	around, err := json.Marshal(frame)
	if err != nil {
		return nil, err
	}
	// A text in the document has its quotes escaped, so only a member can look like this.
	place := []byte(`"changes":[]`)
	if bytes.Count(around, place) != 1 {
		return json.Marshal(d)
	}
	before, after, _ := bytes.Cut(around, place)
	chunks := slices.Collect(slices.Chunk(d.Changes, (len(d.Changes)-1)/runtime.GOMAXPROCS(0)+1))
	parts := make([][]byte, len(chunks))
	var writers errgroup.Group
	for i, chunk := range chunks {
		writers.Go(func() error {
			text, err := json.Marshal(chunk)
			parts[i] = bytes.TrimSuffix(bytes.TrimPrefix(text, []byte("[")), []byte("]"))
			return err
		})
	}
	if err := writers.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(before, []byte(`"changes":[`), bytes.Join(parts, []byte(",")), []byte("]"), after), nil
}
