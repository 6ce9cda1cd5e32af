// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
)

// Tools are the releases of tofu and terraform: [opentofu.Kept].
type Tools interface {
	ParseFile(tool, folder, name string) (opentofu.File, error)
	Open(ctx context.Context, f opentofu.File) (io.ReadCloser, int64, error)
	FetchBy(ctx context.Context, f opentofu.File, by string) error
	Index(ctx context.Context, tool, name string) ([]byte, error)
	Provide(ctx context.Context, w opentofu.Wish, tell func(string)) (opentofu.Provision, error)
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
			if err := s.keepTool(r, by, f); err != nil {
				return "", err
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

// keepTool fetches a file for somebody who may read the mirror.
func (s *Server) keepTool(r *http.Request, by identify, f opentofu.File) error {
	who, err := by(r)
	if err != nil {
		return err
	}
	if err := s.may(r, who, Action{Verb: "get", Resource: ResourceMirror, Name: f.Tool}); err != nil {
		return err
	}
	err = s.opts.Tools.FetchBy(r.Context(), f, who.Name)
	switch {
	case errors.Is(err, opentofu.ErrNoFile):
		return problem(http.StatusNotFound, err.Error())
	case err != nil:
		return problem(http.StatusBadGateway, err.Error())
	}
	return nil
}

// toolIndex lists the kept versions of a tool, in the format of the tool's own site. Everybody may
// have the list, as the files.
func (s *Server) toolIndex(w http.ResponseWriter, r *http.Request) (string, error) {
	list, err := s.opts.Tools.Index(r.Context(), r.PathValue("tool"), r.PathValue("index"))
	if errors.Is(err, opentofu.ErrNoFile) {
		return "", problem(http.StatusNotFound, err.Error())
	}
	if err != nil {
		return "", err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(list)
	return "", err
}

// RunRequest is what the registry knows of the run whose requests it serves.
type RunRequest struct {
	// Who is the run's service account, For names its stack.
	Who Identity
	For string
	// Has returns the versions of a module that the stack has; nil for none, or if that is unknown.
	Has func(m layout.Module) []string
	// Destroys is true if the run destroys the stack.
	Destroys bool
	// Tell reports the download of a tool; an empty text ends the report.
	Tell func(text string)
}

// ServeRun serves the requests of a run as [Server.ServeAs] does. A run may also ask for a tool: the
// operator's list of allowed tools decides, and no right of the run's service account.
//
//	GET /v1/tools/TOOL?version=RANGE&os=OS&arch=ARCH
func (s *Server) ServeRun(run RunRequest) http.Handler {
	mux := http.NewServeMux()
	c := s.as(run.Who)
	c.run = &run
	s.protocols(mux, c)
	if s.opts.Tools != nil {
		mux.HandleFunc("GET /v1/tools/{tool}", s.observed("tool-wanted", s.opened(c.by, s.toolWanted(run))))
	}
	return mux
}

// toolWanted answers with the archive of a tool that a run needs, once it is kept.
func (s *Server) toolWanted(run RunRequest) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		query := r.URL.Query()
		told := false
		defer func() {
			if told {
				run.Tell("")
			}
		}()
		wish := opentofu.Wish{Tool: r.PathValue("tool"), Range: query.Get("version"), OS: query.Get("os"), Arch: query.Get("arch"), By: run.For}
		found, err := s.opts.Tools.Provide(r.Context(), wish, func(text string) {
			told = true
			run.Tell(text)
		})
		var refused *opentofu.RefusedError
		switch {
		case errors.As(err, &refused):
			return "", problem(http.StatusNotFound, err.Error())
		case err != nil:
			s.opts.Log.Warn("cannot provide a tool", "for", run.For, "tool", wish.Tool, "version", wish.Range, "error", err)
			return "", problem(http.StatusBadGateway, err.Error())
		}
		return "", sendJSON(w, found)
	}
}
