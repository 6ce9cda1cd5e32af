// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
)

// Tools are the releases of tofu and terraform: [opentofu.Kept].
type Tools interface {
	ParseFile(tool, folder, name string) (opentofu.File, error)
	Open(ctx context.Context, f opentofu.File) (io.ReadCloser, int64, error)
	Fetch(ctx context.Context, f opentofu.File) error
}

// toolFile sends a file of a release of tofu or terraform, in the layout of the tool's own site.
// Everybody may have files that are kept, because installers send no token, and the files are public.
// Only who may read the mirror can make the registry fetch another one.
func (s *Server) toolFile(by identify) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		f, err := s.opts.Tools.ParseFile(r.PathValue("tool"), r.PathValue("version"), r.PathValue("file"))
		if err != nil {
			return "", problem(http.StatusNotFound, err.Error())
		}
		content, size, err := s.opts.Tools.Open(r.Context(), f)
		if errors.Is(err, blob.ErrNotFound) {
			if err := s.mayRead(r, by, ResourceMirror, f.Tool); err != nil {
				return "", err
			}
			if err := s.opts.Tools.Fetch(r.Context(), f); errors.Is(err, opentofu.ErrNoFile) {
				return "", problem(http.StatusNotFound, err.Error())
			} else if err != nil {
				return "", problem(http.StatusBadGateway, err.Error())
			}
			content, size, err = s.opts.Tools.Open(r.Context(), f)
		}
		if err != nil {
			return "", err
		}
		defer content.Close() //nolint:errcheck // it was only read
		return "", s.sendFile(w, r, offer.File{Content: content, Size: size}, "application/octet-stream")
	}
}
