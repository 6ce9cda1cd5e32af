// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"cmp"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

// helm describes an object of Helm's kinds, and returns its artifact if it is a source.
func (v *object) helm(o client.Object) *meta.Artifact {
	switch o := o.(type) {
	case *sourcev1.HelmRepository:
		v.Kind, v.From, v.Suspended, v.conditions = sourcev1.HelmRepositoryKind, withoutCredentials(o.Spec.URL), o.Spec.Suspend, o.Status.Conditions
		if v.Interval = o.Spec.Interval.Duration.String(); o.Spec.Type == sourcev1.HelmRepositoryTypeOCI {
			// Nothing is fetched, so nothing reports on it: its charts do.
			v.Interval, v.Fetched = "", false
			v.State, v.Says = standing.Ready, "Charts are pulled from it when they are needed."
		}
		return o.Status.Artifact
	case *sourcev1.HelmChart:
		v.Kind, v.Suspended, v.conditions, v.Interval = sourcev1.HelmChartKind, o.Spec.Suspend, o.Status.Conditions, o.Spec.Interval.Duration.String()
		v.takes(source{o.Spec.SourceRef.Kind, o.Namespace, o.Spec.SourceRef.Name})
		v.From += ", " + o.Spec.Chart
		return o.Status.Artifact
	case *helmv2.HelmRelease:
		v.release(o)
	}
	return nil
}

// release describes a HelmRelease. Its revision is the newest chart's that was installed.
func (v *object) release(o *helmv2.HelmRelease) {
	v.Kind, v.Suspended, v.conditions, v.Interval = helmv2.HelmReleaseKind, o.Spec.Suspend, o.Status.Conditions, o.Spec.Interval.Duration.String()
	switch {
	case o.Spec.ChartRef != nil:
		v.takes(source{o.Spec.ChartRef.Kind, cmp.Or(o.Spec.ChartRef.Namespace, o.Namespace), o.Spec.ChartRef.Name})
	case o.Spec.Chart != nil:
		v.takes(source{sourcev1.HelmChartKind, o.Spec.Chart.GetNamespace(o.Namespace), o.GetHelmChartName()})
	}
	if latest := o.Status.History.Latest(); latest != nil {
		v.Revision = latest.ChartVersion
	}
	v.Attempted = o.Status.LastAttemptedRevision
}

// versions are the versions of a release, the newest first, as Helm's storage has them.
func versions(o client.Object) helmv2.Snapshots {
	if r, is := o.(*helmv2.HelmRelease); is {
		return r.Status.History[:min(maxNamed, len(r.Status.History))]
	}
	return nil
}

// helmUsers are the charts of a source, and the releases of a chart.
func (p pages) helmUsers(r *site.Request, v object) (list []user, err error) {
	return usersOf(v, listed(r, p.objects, watched.HelmCharts), listed(r, p.objects, watched.Releases))
}
