// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/yuba-dev/yuba/test/cloud"
)

const (
	// downloadingByHand is the number of stacks whose provider plain tofu downloads, once for each.
	downloadingByHand = 3
	// configSecret contains the tofu configuration that names the registry.
	configSecret = "tofu-configuration"
)

// measureDownloads counts the bytes of a provider that a registry on loopback sends to a fleet
// without a mirror.
func (f *fleet) measureDownloads(ctx context.Context) error {
	if !f.wants(rowDownload) {
		return nil
	}
	r, err := newRegistry(f.mirror)
	if err != nil {
		return err
	}
	defer r.server.Close()
	g := &fleet{bench: f.bench, executions: f.executions, name: "fleet-download", what: f.what, size: f.size, workers: f.workers, content: f.content, registry: r}
	t, err := g.newTrial(ctx, 0)
	if err != nil {
		return fmt.Errorf("download: %w", err)
	}
	err = t.deploy(ctx)
	yubas, sent := r.counts()
	if err == nil {
		err = t.downloadByHand(ctx)
	}
	if err := errors.Join(err, t.end()); err != nil {
		return fmt.Errorf("download: %w", err)
	}
	byHand, total := r.counts()
	each := float64(total-sent) / downloadingByHand / float64(len(r.archive))
	f.results = append(f.results, result{Name: rowDownload, Unit: "x", Trials: g.size, Value: float64(sent) / float64(len(r.archive)),
		What: fmt.Sprintf("bytes downloaded for %d stacks with one provider of %.1f MB, in multiples of its size (%d downloads; plain tofu %d for %d stacks, %.2f times its size each)",
			g.size, float64(len(r.archive))/1e6, yubas, byHand-yubas, downloadingByHand, each)})
	return nil
}

// downloadByHand initialises some directories as a person does, without a plugin cache.
func (t *fleetTrial) downloadByHand(ctx context.Context) error {
	c := cloud.Start()
	defer c.Close()
	hands, err := t.clone(ctx, c)
	if err != nil {
		return err
	}
	for _, h := range hands[:min(len(hands), downloadingByHand)] {
		if err := h.run(ctx, "init"); err != nil {
			return err
		}
	}
	return nil
}

// writeConfig writes a configuration with which plain tofu finds the registry.
func (r *registry) writeConfig(dir string) (string, error) {
	name := filepath.Join(dir, "tofu.rc")
	return name, os.WriteFile(name, r.config(), 0o600)
}
