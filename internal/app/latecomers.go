// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// latecomerCheck is how often Yuba checks whether somebody else now works on the same objects.
const latecomerCheck = 30 * time.Second

// watchLatecomers ends this process with the reason if a tofu-controller starts, if another
// definition replaces Yuba's, if Flux starts beside the controllers that replace it, or if the API
// serves more kinds of sources than are watched. The next process then refuses to start, leaves the
// objects to Flux, or watches these kinds. Runs in Pods continue.
func (opts *ControllerOptions) watchLatecomers(ctx context.Context, c client.Client, watched []string, every time.Duration) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
		if why := opts.latecomer(ctx, c, watched); why != "" {
			return errors.New(why)
		}
	}
}

// latecomer says why this process must end; empty if it need not. A failed check proves nothing.
func (opts *ControllerOptions) latecomer(ctx context.Context, c client.Client, watched []string) string {
	if why, err := runningTofuController(ctx, c, time.Now()); err == nil && why != "" {
		return why
	}
	if why, err := oldKind(ctx, c); err == nil && why != "" {
		return why
	}
	if served, err := servedSources(c.RESTMapper()); err == nil {
		for _, kind := range served {
			if !slices.Contains(watched, kind) {
				return "the API now serves the kind " + kind + ". Yuba restarts to watch it"
			}
		}
	}
	if !opts.GitOps {
		return ""
	}
	why, err := runningFlux(ctx, c, time.Now())
	if err != nil || why == "" {
		return ""
	}
	return why + ". Yuba restarts, to leave sources, Kustomizations and HelmReleases to Flux"
}
