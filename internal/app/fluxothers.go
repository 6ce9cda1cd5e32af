// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fluxControllers are the controllers of Flux that do what those of --gitops do. Their Leases have
// their name, this suffix, and for shards more.
var fluxControllers = []string{"source-controller", "kustomize-controller", "helm-controller", "notification-controller",
	"image-reflector-controller", "image-automation-controller"}

const fluxLease = "-leader-election"

// runningFlux says which controller of Flux is running on this API; empty if none is.
func runningFlux(ctx context.Context, c client.Client, now time.Time) (string, error) {
	l, err := livingLeader(ctx, c, func(name string) bool {
		return slices.ContainsFunc(fluxControllers, func(f string) bool { return strings.HasPrefix(name, f+fluxLease) })
	}, now)
	if err != nil {
		return "", fmt.Errorf("check for a running Flux: %w", err)
	}
	if l == nil {
		return "", nil
	}
	controller, _, _ := strings.Cut(l.Name, fluxLease)
	return fmt.Sprintf("Flux's %s is running on this API (%s)", controller, leaderInWords(l, now)), nil
}

// yieldToFlux switches off the controllers that replace Flux if it is running: both would write the
// status of the same objects, and apply and delete the same manifests.
func (opts *ControllerOptions) yieldToFlux(ctx context.Context, c client.Client) error {
	if !opts.GitOps {
		return nil
	}
	why, err := runningFlux(ctx, c, time.Now())
	if err != nil || why == "" {
		return err
	}
	opts.GitOps = false
	opts.Log.Warn(why + ", so Yuba leaves sources, Kustomizations, HelmReleases, image automation, Alerts and Receivers to Flux. Start Yuba without --gitops (in the chart: " +
		"sources.enabled=false). To let Yuba work on them instead, stop Flux and restart Yuba")
	return nil
}
