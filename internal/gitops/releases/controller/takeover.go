// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/yuba-dev/yuba/internal/gitops/releases/decide"
	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// placeOf is where the release of a HelmRelease should be.
func placeOf(obj *helmv2.HelmRelease) decide.Place {
	return decide.Place{Name: decide.ReleaseName(obj.GetReleaseName()), Namespace: obj.GetReleaseNamespace(), Storage: obj.GetStorageNamespace()}
}

// lastPlaceOf is where the release is that the status describes: where it should be, if there is none.
func lastPlaceOf(obj *helmv2.HelmRelease) decide.Place {
	last := obj.Status.History.Latest()
	if last == nil || obj.Status.StorageNamespace == "" {
		return placeOf(obj)
	}
	return decide.Place{Name: last.Name, Namespace: last.Namespace, Storage: obj.Status.StorageNamespace}
}

func releaseAt(place decide.Place) wire.Release {
	return wire.Release{Name: place.Name, Namespace: place.Namespace, StorageNamespace: place.Storage}
}

// leave uninstalls a release at a place that the spec does not name any more, as Flux does.
func (a *attempt) leave(ctx context.Context) error {
	why := decide.Left(lastPlaceOf(a.obj), placeOf(a.obj))
	if why == "" {
		return nil
	}
	setProgress(a.obj, "Running 'uninstall' action, because "+why)
	if err := a.write(ctx, a.obj, a.before); err != nil {
		return err
	}
	if err := a.uninstallAt(ctx, lastPlaceOf(a.obj), ", because "+why); err != nil {
		return err
	}
	a.obj.Status.ClearHistory()
	a.obj.Status.ClearFailures()
	a.obj.Status.Inventory, a.obj.Status.StorageNamespace = nil, ""
	return a.write(ctx, a.obj, a.before)
}

// uninstallAt uninstalls the release of the status. What somebody else installed at its place stays.
func (a *attempt) uninstallAt(ctx context.Context, place decide.Place, why string) error {
	name := place.Namespace + "/" + place.Name
	observe := a.call(wire.Observe)
	observe.Release = releaseAt(place)
	result, err := a.session.Do(ctx, observe, nil)
	if err != nil {
		return err
	}
	if result.Failure != nil {
		return &failureError{result.Failure}
	}
	a.stored = result.Stored
	a.adopt()
	if len(a.stored) == 0 || a.stored[0].Status == decide.StatusUninstalled {
		return nil
	}
	known := sets.New[string]()
	for _, h := range a.obj.Status.History {
		known.Insert(h.Digest)
	}
	if last := a.stored[0]; len(known) > 0 && !known.Has(last.Digest) && last.Status == decide.StatusDeployed {
		a.event(a.obj, corev1.EventTypeWarning, helmv2.UninstallFailedReason, fmt.Sprintf("the release %s stays: its version %d was installed by somebody else", name, last.Version))
		return nil
	}
	uninstall := a.call(wire.Uninstall)
	uninstall.Release = releaseAt(place)
	if result, err = a.session.Do(ctx, uninstall, nil); err != nil {
		return err
	}
	if result.Failure != nil {
		return &failureError{&wire.Failure{Message: fmt.Sprintf("Helm uninstall failed for release %s%s: %s", name, why, result.Failure.Message)}}
	}
	a.event(a.obj, corev1.EventTypeNormal, helmv2.UninstallSucceededReason, "Helm uninstall succeeded for release "+name+why)
	return nil
}

// adopt recognizes the versions that another controller recorded, such as Flux's: its digests of stored
// releases differ from ours, and without them the release would be upgraded for nothing.
func (a *attempt) adopt() {
	if a.facts.Last.Known {
		return // our own record
	}
	adopted := false
	for i, h := range a.obj.Status.History {
		for _, v := range a.stored {
			if h.Digest != v.Digest && recorded(h).Same(deployment(v)) {
				h.Digest, h.ConfigDigest, h.APIVersion = v.Digest, v.ConfigDigest, helmv2.CurrentSnapshotAPIVersion
				adopted = adopted || i == 0
			}
		}
	}
	ready := conditions.Of(a.obj, meta.ReadyCondition)
	if s := &a.obj.Status; adopted && s.ObservedGeneration == a.obj.Generation && ready.Status == metav1.ConditionTrue {
		s.ObservedPostRenderersDigest, s.ObservedCommonMetadataDigest = digestOf(a.obj.Spec.PostRenderers), digestOf(a.obj.Spec.CommonMetadata)
	}
}

func recorded(h *helmv2.Snapshot) decide.Deployment {
	return decide.Deployment{Name: h.Name, Namespace: h.Namespace, Number: h.Version, Chart: h.ChartName, ChartVersion: h.ChartVersion, First: h.FirstDeployed.Time, Last: h.LastDeployed.Time}
}

func deployment(v wire.Stored) decide.Deployment {
	return decide.Deployment{Name: v.Name, Namespace: v.Namespace, Number: v.Version, Chart: v.ChartName, ChartVersion: v.ChartVersion, First: v.FirstDeployed, Last: v.LastDeployed}
}
