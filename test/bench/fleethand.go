// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/yuba-dev/yuba/test/cloud"
)

// byHand runs plain tofu in a clone of the fleet's repository, with the same programs, the same
// provider mirror and a cloud of its own.
func (t *fleetTrial) byHand(ctx context.Context) error {
	c := cloud.Start()
	defer c.Close()
	c.Slow(t.cloudLatency)
	hands, err := t.clone(ctx, c)
	if err != nil {
		return err
	}
	began := time.Now()
	before, err := t.yuba.cpu()
	if err != nil {
		return err
	}
	for _, part := range []struct {
		what string
		into *compared
		do   func(*byHand) error
	}{
		{"the first apply", &t.apply, func(h *byHand) error { _, err := h.firstApply(ctx); return err }},
		{"the plan", &t.refresh, func(h *byHand) error { _, err := h.plan(ctx); return err }},
	} {
		o, err := t.observe(spentOn(hands), func() error { return t.all(hands, part.do) })
		if err != nil {
			return err
		}
		part.into.byHand = append(part.into.byHand, o)
		t.say("plain tofu: %s took %s (%s of CPU)", part.what, o.took.Round(time.Millisecond), o.cpu)
	}
	after, err := t.yuba.cpu()
	t.meanwhile = append(t.meanwhile, 100*(after-before).Seconds()/time.Since(began).Seconds())
	return err
}

// clone clones the repository and returns a plain tofu for each stack's directory.
func (t *fleetTrial) clone(ctx context.Context, c *cloud.Cloud) ([]*byHand, error) {
	dir := t.directory(t.name + "-hand")
	if out, err := exec.CommandContext(ctx, "git", "clone", "--quiet", t.live.Path(), dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("clone the fleet's repository: %w\n%s", err, out)
	}
	config, err := t.writeConfig(dir)
	if err != nil {
		return nil, err
	}
	hands := make([]*byHand, t.size)
	for i := range hands {
		h := &byHand{tofu: t.programs.tofu, dir: filepath.Join(dir, stackPath(i))}
		for _, e := range environmentOf(c) {
			h.env = append(h.env, e.Name+"="+e.Value)
		}
		if config != "" {
			h.env = append(h.env, "TF_CLI_CONFIG_FILE="+config)
		}
		hands[i] = h
	}
	return hands, nil
}

// writeConfig writes a configuration with which tofu finds the mirror or the registry, if any.
func (t *fleetTrial) writeConfig(dir string) (string, error) {
	switch {
	case t.registry != nil:
		return t.registry.writeConfig(dir)
	case t.mirror == "":
		return "", nil
	}
	config := filepath.Join(dir, "tofu.rc")
	text := fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror { path = %q }\n}\n", t.mirror)
	return config, os.WriteFile(config, text, 0o600)
}

// spentOn is the CPU time of all commands of plain tofu.
func spentOn(hands []*byHand) func() (spent, error) {
	return func() (spent, error) {
		var s spent
		for _, h := range hands {
			s.total += h.cpu
		}
		return s, nil
	}
}

// all calls do for each directory, as many at a time as there are workers.
func (f *fleet) all(hands []*byHand, do func(*byHand) error) error {
	work, failed := make(chan *byHand), make(chan error, f.workers)
	for range f.workers {
		go func() {
			var err error
			for h := range work {
				if err == nil {
					err = do(h)
				}
			}
			failed <- err
		}()
	}
	for _, h := range hands {
		work <- h
	}
	close(work)
	var err error
	for range f.workers {
		err = errors.Join(err, <-failed)
	}
	return err
}
