// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// Charts reads charts and indexes in a process that may fail.
type Charts interface {
	// Resolve finds a version of a chart in an index.
	Resolve(ctx context.Context, index []byte, name, version string) (ChartVersion, error)
	// Package makes an archive of a directory of a source's archive.
	Package(ctx context.Context, tree []byte, request ChartRequest) ([]byte, ChartVersion, error)
	// Inspect reads an archive, and fails if it is no usable chart.
	Inspect(ctx context.Context, archive []byte) (ChartVersion, error)
}

// ChartVersion is a version of a chart. URLs and Digest are the index's.
type ChartVersion struct {
	Name, Version, Digest string
	URLs                  []string
}

// ChartRequest names a chart in a tree.
type ChartRequest struct {
	Path          string
	ValuesFiles   []string
	IgnoreMissing bool
	// Metadata is appended to the version.
	Metadata string
}

// ChartError means that a chart cannot be used until it changes.
type ChartError struct{ Message string }

func (e *ChartError) Error() string { return e.Message }

// The reasons of HelmCharts, as in Flux.
const (
	reasonChartPull      = "ChartPullError"
	reasonChartPackage   = "ChartPackageError"
	reasonChartReference = "InvalidChartReference"
	reasonNoArtifact     = "NoSourceArtifact"
	reasonNoSource       = "SourceUnavailable"
)

// chartLayer is the media type of charts in registries.
const chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// helmCharts is the kind HelmChart.
func (s *Sources) helmCharts() *kind {
	return &kind{
		name: sourcev1.HelmChartKind, plural: "helmcharts", new: func() Object { return &sourcev1.HelmChart{} },
		list:   func() client.ObjectList { return &sourcev1.HelmChartList{} },
		stored: "pulled chart with version '%s'", failed: reasonChartPull, extension: "tgz",
		look: func(ctx context.Context, o Object, fresh bool) (*Found, error) {
			return s.lookChart(ctx, o.(*sourcev1.HelmChart), fresh)
		},
		view: func(o Object) view {
			c := o.(*sourcev1.HelmChart)
			return view{url: "the chart " + c.Spec.Chart, suspended: c.Spec.Suspend, timeout: 2 * defaultTimeout,
				artifact: &c.Status.Artifact, generation: &c.Status.ObservedGeneration, handled: &c.Status.LastHandledReconcileAt, archive: &c.Status.URL}
		},
		observed: func(o Object) bool {
			return o.(*sourcev1.HelmChart).Status.ObservedGeneration == o.GetGeneration()
		},
		observe: func(o Object) {
			c := o.(*sourcev1.HelmChart)
			c.Status.ObservedValuesFiles = c.Spec.ValuesFiles
		},
		found: func(o Object, found *Found) {
			c := o.(*sourcev1.HelmChart)
			c.Status.ObservedChartName, c.Status.ObservedSourceArtifactRevision = found.Chart.Name, found.Chart.Source
		},
		references: func(o Object) []string {
			c := o.(*sourcev1.HelmChart)
			if c.Spec.Verify == nil {
				return nil
			}
			return secretNames(c.Spec.Verify.SecretRef)
		},
	}
}

// FoundChart is what a look at a chart found, besides its version.
type FoundChart struct {
	Name, Source string
}

// lookChart finds the chart's version in its source.
func (s *Sources) lookChart(ctx context.Context, o *sourcev1.HelmChart, fresh bool) (*Found, error) {
	ref := o.Spec.SourceRef
	if o.Spec.Verify != nil && ref.Kind != sourcev1.HelmRepositoryKind {
		return nil, upstream.Stalled(sourcev1.VerificationError, nil, "spec.verify is only for charts in registries: the signature of a %s is verified by its own spec.verify", ref.Kind)
	}
	source, err := s.chartSource(ctx, o)
	if err != nil {
		return nil, err
	}
	repository, ok := source.(*sourcev1.HelmRepository)
	switch {
	case ok && repository.Spec.Type == sourcev1.HelmRepositoryTypeOCI:
		return s.lookRegistryChart(ctx, o, repository, fresh)
	case ok && o.Spec.Verify != nil:
		return nil, upstream.Stalled(sourcev1.VerificationError, nil, "spec.verify is only for charts in registries: the HelmRepository %s is not of the type oci", ref.Name)
	}
	a := source.GetArtifact()
	if a == nil {
		return nil, upstream.Failed(reasonNoArtifact, nil, "no artifact available for %s source '%s'", ref.Kind, ref.Name)
	}
	if c := o.Status.Artifact; c != nil && !fresh && o.Status.ObservedSourceArtifactRevision == a.Revision && o.Status.ObservedGeneration == o.Generation {
		found := &Found{Revision: c.Revision, Chart: FoundChart{o.Status.ObservedChartName, a.Revision}, Archive: s.chartAgain(o, source)}
		found.say(ok)
		return found, nil
	}
	if ok {
		return s.lookIndexChart(ctx, o, repository)
	}
	return s.lookTreeChart(ctx, o, source)
}

// say sets the message, as Flux's.
func (f *Found) say(pulled bool) {
	f.Reason, f.Message = sourcev1.ChartPackageSucceededReason, fmt.Sprintf("packaged '%s' chart with version '%s'", f.Chart.Name, f.Revision)
	if pulled {
		f.Reason, f.Message = sourcev1.ChartPullSucceededReason, fmt.Sprintf("pulled '%s' chart with version '%s'", f.Chart.Name, f.Revision)
	}
	f.News = f.Message
}

// chartAgain fetches an unchanged chart whose archive was lost.
func (s *Sources) chartAgain(o *sourcev1.HelmChart, source Object) func(context.Context) (io.ReadCloser, error) {
	return func(ctx context.Context) (io.ReadCloser, error) {
		look := s.lookTreeChart
		if _, ok := source.(*sourcev1.HelmRepository); ok {
			look = func(ctx context.Context, o *sourcev1.HelmChart, source Object) (*Found, error) {
				return s.lookIndexChart(ctx, o, source.(*sourcev1.HelmRepository))
			}
		}
		found, err := look(ctx, o, source)
		if err != nil {
			return nil, err
		}
		return found.Archive(ctx)
	}
}

// chartSource reads the source of a chart, in the chart's own namespace.
func (s *Sources) chartSource(ctx context.Context, o *sourcev1.HelmChart) (Object, error) {
	var source Object
	switch kind := o.Spec.SourceRef.Kind; kind {
	case sourcev1.HelmRepositoryKind:
		source = &sourcev1.HelmRepository{}
	case sourcev1.GitRepositoryKind:
		source = &sourcev1.GitRepository{}
	case sourcev1.BucketKind:
		source = &sourcev1.Bucket{}
	default:
		return nil, upstream.Stalled(reasonNoSource, nil, "spec.sourceRef.kind %s is not supported: use HelmRepository, GitRepository or Bucket", kind)
	}
	err := s.Cache.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Spec.SourceRef.Name}, source)
	if apierrors.IsNotFound(err) {
		return nil, upstream.Failed(reasonNoSource, err, "the %s %s/%s of spec.sourceRef does not exist", o.Spec.SourceRef.Kind, o.Namespace, o.Spec.SourceRef.Name)
	}
	return source, err
}

// lookIndexChart finds the chart in the index of a repository.
func (s *Sources) lookIndexChart(ctx context.Context, o *sourcev1.HelmChart, repository *sourcev1.HelmRepository) (*Found, error) {
	index, err := s.readArtifact(ctx, repository.Status.Artifact)
	if err != nil {
		return nil, upstream.Failed(reasonChartPull, err, "read the index of the HelmRepository %s: %s", repository.Name, err)
	}
	version, err := s.Charts.Resolve(ctx, index, o.Spec.Chart, o.Spec.Version)
	if err != nil {
		return nil, chartFailure(reasonChartReference, fmt.Sprintf("find the chart %s in the HelmRepository %s", o.Spec.Chart, repository.Name), err)
	}
	found := &Found{Revision: version.Version, Chart: FoundChart{version.Name, repository.Status.Artifact.Revision}}
	found.Archive = func(ctx context.Context) (io.ReadCloser, error) { return s.download(ctx, repository, version) }
	found.say(true)
	return found, nil
}

// download fetches a chart and verifies that it is the one of the index.
func (s *Sources) download(ctx context.Context, repository *sourcev1.HelmRepository, version ChartVersion) (io.ReadCloser, error) {
	what := fmt.Sprintf("fetch the chart %s %s of the HelmRepository %s", version.Name, version.Version, repository.Name)
	site, err := newRepositorySite(ctx, s.Reader, repository)
	if err != nil {
		return nil, err
	}
	defer site.transport.CloseIdleConnections()
	packed, err := site.get(ctx, version.URLs[0], maxChart)
	if err != nil {
		return nil, upstream.Attempted(reasonChartPull, what, err, func(error) string { return "" })
	}
	if want := strings.TrimPrefix(version.Digest, "sha256:"); want != "" && want != hexDigest(packed) {
		return nil, upstream.Failed(reasonChartPull, nil, "%s: its digest is sha256:%s, and not that of the index, sha256:%.64s", what, hexDigest(packed), want)
	}
	is, err := s.Charts.Inspect(ctx, packed)
	if err != nil {
		return nil, chartFailure(reasonChartPull, what, err)
	}
	if is.Name != version.Name || strings.TrimPrefix(is.Version, "v") != strings.TrimPrefix(version.Version, "v") {
		return nil, upstream.Failed(reasonChartPull, nil, "%s: the archive has the chart %.100s %.100s", what, is.Name, is.Version)
	}
	return io.NopCloser(bytes.NewReader(packed)), nil
}

// lookTreeChart packages a directory of another source.
func (s *Sources) lookTreeChart(ctx context.Context, o *sourcev1.HelmChart, source Object) (*Found, error) {
	a := source.GetArtifact()
	tree, err := s.readArtifact(ctx, a)
	if err != nil {
		return nil, upstream.Failed(reasonChartPackage, err, "read the artifact of %s %s: %s", o.Spec.SourceRef.Kind, o.Spec.SourceRef.Name, err)
	}
	request := ChartRequest{Path: o.Spec.Chart, ValuesFiles: o.Spec.ValuesFiles, IgnoreMissing: o.Spec.IgnoreMissingValuesFiles}
	if o.Spec.ReconcileStrategy == sourcev1.ReconcileStrategyRevision {
		request.Metadata = shortRevision(a.Revision)
	}
	packed, version, err := s.Charts.Package(ctx, tree, request)
	if err != nil {
		return nil, chartFailure(reasonChartPackage, fmt.Sprintf("package the chart %s of %s %s", o.Spec.Chart, o.Spec.SourceRef.Kind, o.Spec.SourceRef.Name), err)
	}
	found := &Found{Revision: version.Version, Chart: FoundChart{version.Name, a.Revision}, Archive: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed)), nil
	}}
	found.say(false)
	return found, nil
}

// shortRevision is the part of a revision that Flux appends to versions: the beginning of its digest.
func shortRevision(revision string) string {
	if i := strings.LastIndexAny(revision, ":/"); i >= 0 {
		revision = revision[i+1:]
	}
	return revision[:min(len(revision), 12)]
}

// lookRegistryChart finds the chart in a registry.
func (s *Sources) lookRegistryChart(ctx context.Context, o *sourcev1.HelmChart, repository *sourcev1.HelmRepository, fresh bool) (*Found, error) {
	if s.OCI == nil {
		return nil, upstream.Stalled(reasonNoSource, nil, "this server reads no registries")
	}
	wanted := &sourcev1.OCIRepository{ObjectMeta: o.ObjectMeta}
	wanted.Spec = sourcev1.OCIRepositorySpec{URL: strings.TrimSuffix(repository.Spec.URL, "/") + "/" + o.Spec.Chart, SecretRef: repository.Spec.SecretRef,
		CertSecretRef: repository.Spec.CertSecretRef, Insecure: repository.Spec.Insecure, Timeout: repository.Spec.Timeout, Provider: repository.Spec.Provider, Interval: o.Spec.Interval,
		Reference:     &sourcev1.OCIRepositoryRef{SemVer: cmp.Or(o.Spec.Version, "*")},
		LayerSelector: &sourcev1.OCILayerSelector{MediaType: chartLayer, Operation: sourcev1.OCILayerCopy}}
	if v := o.Spec.Verify; v != nil {
		wanted.Spec.Verify = &sourcev1.OCIRepositoryVerification{Provider: v.Provider, SecretRef: v.SecretRef}
	}
	found, err := s.OCI.Look(ctx, wanted, fresh)
	if err != nil {
		return nil, upstream.Attempted(reasonChartPull, "find the chart "+o.Spec.Chart, err, error.Error)
	}
	open := found.Archive
	name := o.Spec.Chart[strings.LastIndex(o.Spec.Chart, "/")+1:]
	tag, _, _ := strings.Cut(found.Revision, "@")
	found.Chart, found.Revision = FoundChart{name, found.Revision}, strings.ReplaceAll(tag, "_", "+")
	found.Upstream, found.Metadata = "", nil
	found.Archive = func(ctx context.Context) (io.ReadCloser, error) { return s.inspected(ctx, open) }
	found.say(true)
	return found, nil
}

// inspected reads an archive, and fails if it is no usable chart.
func (s *Sources) inspected(ctx context.Context, open func(context.Context) (io.ReadCloser, error)) (io.ReadCloser, error) {
	content, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer content.Close() //nolint:errcheck // read only
	packed, err := io.ReadAll(io.LimitReader(content, maxChart+1))
	if err != nil {
		return nil, err
	}
	if len(packed) > maxChart {
		return nil, upstream.Failed(reasonChartPull, nil, "the chart has more than %d MiB", maxChart>>20)
	}
	if _, err := s.Charts.Inspect(ctx, packed); err != nil {
		return nil, chartFailure(reasonChartPull, "read the chart", err)
	}
	return io.NopCloser(bytes.NewReader(packed)), nil
}

// readArtifact reads a stored artifact, which is not larger than charts and indexes may be.
func (s *Sources) readArtifact(ctx context.Context, a *meta.Artifact) ([]byte, error) {
	content, err := s.Store.OpenArtifact(ctx, a.Digest)
	if err != nil {
		return nil, err
	}
	defer content.Close() //nolint:errcheck // read only
	data, err := io.ReadAll(io.LimitReader(content, maxIndex+1))
	if err == nil && len(data) > maxIndex {
		err = fmt.Errorf("it has more than %d MiB", maxIndex>>20)
	}
	return data, err
}

// chartFailure makes a failure for the status. A chart that cannot be used stays so.
func chartFailure(reason, what string, err error) error {
	var wrong *ChartError
	if errors.As(err, &wrong) {
		return upstream.Failed(reason, err, "%s: %s", what, wrong.Message)
	}
	return upstream.Attempted(reason, what, err, error.Error)
}

// chartSourceKinds are the kinds of sources of charts.
func chartSourceKinds() map[string]client.Object {
	return map[string]client.Object{sourcev1.HelmRepositoryKind: &sourcev1.HelmRepository{}, sourcev1.GitRepositoryKind: &sourcev1.GitRepository{}, sourcev1.BucketKind: &sourcev1.Bucket{}}
}

// chartsOf makes the charts of a source look.
func (r *reconciler) chartsOf(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, changed client.Object) []reconcile.Request {
		requests := reconciling.Find(ctx, r.Cache, r.Log, r.kind.list(), indexChartSources, changed.GetNamespace()+"/"+kind+"/"+changed.GetName())
		for _, request := range requests {
			r.memories.mark(request.NamespacedName)
		}
		return requests
	})
}

// hexDigest is the digest of an archive, as indexes write it.
func hexDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// chartSources lists the sources of a chart, as "kind/name".
func chartSources(o Object) []string {
	c, ok := o.(*sourcev1.HelmChart)
	if !ok || c.Spec.SourceRef.Kind == "" {
		return nil
	}
	return []string{c.Spec.SourceRef.Kind + "/" + c.Spec.SourceRef.Name}
}
