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

// ToolDir returns the directory of tools of a data directory, and creates it if it is missing.
func ToolDir(dataDir string) (string, error) {
	dir, err := datadir.Open(dataDir)
	return dir.Tools(), err
}

// fetchTofu installs the OpenTofu that Yuba is tested with, for a server that has found none.
func (o *Common) fetchTofu(ctx context.Context, tools string) (string, error) {
	if !o.FetchTofu {
		return "", noTofu(tools, errors.New("--fetch-tofu=false disables downloading it"))
	}
	narrator := newNarrator(o)
	narrator.say("No tofu beside yuba, on PATH or in %s. Downloading OpenTofu %s from %s", tools, opentofu.Pinned, o.ToolSource.Shown())
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

// noTofu says why there is no tofu, and how to get it.
func noTofu(tools string, err error) error {
	return fmt.Errorf("find tofu: it is neither on PATH, nor beside yuba, nor in %s, and %w.\n"+
		"Install OpenTofu from the network or a mirror (--url), build it in a checkout of Yuba, or name it:\n"+
		"    yuba tools install %s --tools %s\n    make tofu\n    yuba up --tofu PATH", tools, err, opentofu.Pinned, datadir.Quoted(tools))
}
