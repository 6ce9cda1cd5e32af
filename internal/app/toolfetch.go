// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
)

// ToolDir is the directory of tools of a data directory, which is made if it is not there.
func ToolDir(dataDir string) (string, error) {
	dir, err := datadir.Open(dataDir)
	return dir.Tools(), err
}

// fetchTofu installs the OpenTofu that Yuba is tested with, for a server that found none.
func (o *Common) fetchTofu(ctx context.Context, tools string) (string, error) {
	if !o.FetchTofu {
		return "", noTofu(tools, errors.New("none is fetched, as --fetch-tofu=false says"))
	}
	narrator := newNarrator(o)
	narrator.say("No tofu is beside yuba, on PATH or in %s. Fetching OpenTofu %s from %s", tools, opentofu.Pinned, o.ToolSource.Shown())
	began := time.Now()
	installed, err := opentofu.Install(ctx, o.ToolSource, tools, opentofu.Pinned, opentofu.Quarters(func(done string) { narrator.say("  %s", done) }))
	if err != nil {
		return "", noTofu(tools, err)
	}
	if installed.Already { // by another server meanwhile
		return installed.Path, nil
	}
	narrator.say("Installed %s in %s; it is signed by %s", installed.Path, time.Since(began).Round(100*time.Millisecond), installed.Signer)
	return installed.Path, nil
}

// noTofu says why there is no tofu, and the ways to one.
func noTofu(tools string, err error) error {
	return fmt.Errorf("find tofu: it is neither on PATH, nor beside yuba, nor in %s, and %w.\n"+
		"Install OpenTofu where there is a network or a mirror (--url), build it in a checkout of Yuba, or name it:\n"+
		"    yuba tools install %s --tools %s\n    make tofu\n    yuba up --tofu PATH", tools, err, opentofu.Pinned, datadir.Quoted(tools))
}
