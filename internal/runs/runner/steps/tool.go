// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/opentofu/program"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/registryproxy"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
)

// findTool finds the run's tool. A missing one comes from the server's registry, which may have to
// download it first.
func (s *prepareStep) findTool(ctx context.Context) (tools.Tool, error) {
	found, err := s.run.Tools.Find(ctx, s.run.Spec.Tool)
	var missing *tools.MissingError
	if !errors.As(err, &missing) || missing.Dir == "" || s.run.Spec.Registry == nil {
		return found, err
	}
	placed, problem := s.placeTool(ctx, missing)
	switch {
	case ctx.Err() != nil:
		return found, context.Cause(ctx)
	case problem != nil:
		return found, fault.New(run.FailureTool, "%w.\n%w", missing, problem)
	}
	s.run.Log.Note("Tool: %s %s from this server's registry", placed.Tool, placed.Version)
	return s.run.Tools.Find(ctx, s.run.Spec.Tool)
}

// provision is the registry's answer: the archive that fits.
type provision struct {
	Tool    string `json:"tool"`
	Version string `json:"version"`
	Archive string `json:"archive"`
	SHA256  string `json:"sha256"`
}

// maxProvision limits the answer.
const maxProvision = 64 << 10

// placeTool asks the registry for the tool, and places it among those of the runner.
func (s *prepareStep) placeTool(ctx context.Context, missing *tools.MissingError) (provision, error) {
	s.run.Log.Note("Tool: %s is not installed; asking this server's registry", strings.TrimSpace(missing.Name+" "+s.run.Spec.Tool.Version))
	open := s.run.OpenRegistry(run.NoRevoked)
	query := url.Values{"version": {s.run.Spec.Tool.Version}, "os": {runtime.GOOS}, "arch": {runtime.GOARCH}}
	p, err := askProvision(ctx, open, "/v1/tools/"+missing.Name+"?"+query.Encode())
	if err != nil {
		return p, err
	}
	if p.Tool != missing.Name || !filepath.IsLocal(p.Version) || strings.ContainsAny(p.Version+p.Archive, `/\`) {
		return p, fmt.Errorf("the server's registry answers with %q %q. This is a bug in Yuba", p.Tool, p.Version)
	}
	path := program.Path(missing.Dir, p.Tool, p.Version)
	release := program.Release{Tool: p.Tool, Version: p.Version, Archive: p.Archive, SHA256: p.SHA256}
	// Runs that need the same tool wait for the first.
	err = s.run.ToolFlights.Do(ctx, path, func(ctx context.Context) error {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		return program.Place(ctx, missing.Dir, release, func(ctx context.Context, to io.Writer) error {
			return copyFile(ctx, open, "/v1/tools/"+p.Tool+"/v"+p.Version+"/"+p.Archive, to)
		})
	})
	if err != nil {
		return p, fmt.Errorf("install %s %s from the server's registry: %w", p.Tool, p.Version, err)
	}
	return p, nil
}

func askProvision(ctx context.Context, open registryproxy.Open, path string) (p provision, err error) {
	answer, problem, err := registryproxy.Get(ctx, open, path)
	switch {
	case err != nil:
		return p, fmt.Errorf("ask the server's registry for it: %w", err)
	case problem != "":
		return p, errors.New(problem)
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxProvision)).Decode(&p); err != nil {
		return p, fmt.Errorf("ask the server's registry for it: %w", err)
	}
	return p, nil
}

// copyFile copies a file of the registry. A restart of the server in its middle fails the run, which is
// tried again.
func copyFile(ctx context.Context, open registryproxy.Open, path string, to io.Writer) error {
	answer, problem, err := registryproxy.Get(ctx, open, path)
	switch {
	case err != nil:
		return err
	case problem != "":
		return errors.New(problem)
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	_, err = io.Copy(to, answer.Body)
	return err
}
