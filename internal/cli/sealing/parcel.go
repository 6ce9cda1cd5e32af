// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/parcel"
	"github.com/yuba-dev/yuba/internal/kit/bundle"
)

// importHistory makes a parcel of the archived content of a stack, and has the home import it. A home
// never replaces history, and checks everything.
func (r *restorer) importHistory(ctx context.Context, c *restored) (parcel.Summary, error) {
	dir := c.from.Dir + "/" + contentDir + "/"
	if !r.has(dir + parcel.HeaderName) {
		return parcel.Summary{}, nil
	}
	stream, w := io.Pipe()
	go func() { w.CloseWithError(r.writeParcel(ctx, w, dir, c.from.Damaged)) }() //nolint:errcheck // it returns nil
	summary, err := r.Content.Import(ctx, c.Namespace, c.Name, stream)
	stream.CloseWithError(err) //nolint:errcheck // it returns nil
	return summary, err
}

func (r *restorer) has(name string) bool {
	for _, m := range r.index.Members {
		if m.Name == name {
			return true
		}
	}
	return false
}

func (r *restorer) writeParcel(ctx context.Context, w io.Writer, dir string, damaged []string) error {
	out := bundle.NewWriter(ctx, w, time.Now().UTC())
	out.Manifest.Damaged = damaged
	err := r.archive.Each(ctx, r.index, r.identities, func(name string, content io.Reader) error {
		rest, below := strings.CutPrefix(name, dir)
		if !below {
			return nil
		}
		return out.Add(rest, content)
	})
	if err != nil {
		return err
	}
	return out.Close()
}
