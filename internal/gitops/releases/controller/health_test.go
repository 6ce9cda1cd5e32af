// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// healthy are expressions about the chart's ConfigMap.
var healthy = []kustomize.CustomHealthCheck{{APIVersion: "v1", Kind: "ConfigMap",
	HealthCheckExpressions: kustomize.HealthCheckExpressions{Current: "data.greeting == 'fine'", Failed: "data.greeting == 'broken'"}}}

func TestHelmWaitsForTheHealthOfCustomObjects(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(func(hr *helmv2.HelmRelease) {
		hr.Spec.HealthCheckExprs, hr.Spec.Timeout = healthy, &metav1.Duration{Duration: 2 * time.Second}
		hr.Spec.Values = values(`{"greeting":"slow"}`)
	})
	w.stalled(hr, "RetriesExceeded")
	has(t, w.notReady(hr, helmv2.InstallFailedReason), "resource ConfigMap/"+w.namespace+"/settings not ready. status: InProgress")

	// A failed object ends the wait before the timeout.
	w.change(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Timeout, hr.Spec.Values = &metav1.Duration{Duration: time.Hour}, values(`{"greeting":"broken"}`)
	})
	has(t, w.notReady(hr, helmv2.UpgradeFailedReason), "resource ConfigMap/"+w.namespace+"/settings not ready. status: Failed")

	w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = values(`{"greeting":"fine"}`) })
	w.ready(hr)
}

// Without waiting, and with Helm 3's way to wait, expressions do not matter, as in Flux.
func TestHealthDoesNotMatterWithoutThePoller(t *testing.T) {
	for sentence, change := range map[string]func(*helmv2.HelmRelease){
		"no wait": func(hr *helmv2.HelmRelease) { hr.Spec.Install = &helmv2.Install{DisableWait: true} },
		"Helm 3's": func(hr *helmv2.HelmRelease) {
			hr.Spec.WaitStrategy = &helmv2.WaitStrategy{Name: helmv2.WaitStrategyLegacy}
		},
		"the poller": func(hr *helmv2.HelmRelease) {
			hr.Spec.WaitStrategy, hr.Spec.Values = &helmv2.WaitStrategy{Name: helmv2.WaitStrategyPoller}, values(`{"greeting":"fine"}`)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			w.publish("1.0.0", simple("1.0.0"))
			w.ready(w.release(func(hr *helmv2.HelmRelease) {
				hr.Spec.HealthCheckExprs = healthy
				change(hr)
			}))
		})
	}
}
