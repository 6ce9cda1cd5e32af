// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"fmt"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	automationv1 "github.com/fluxcd/image-automation-controller/api/v1"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var here1 = metav1.ObjectMeta{Namespace: "prod", Name: "a"}

func with(reason string, status metav1.ConditionStatus) []metav1.Condition {
	return []metav1.Condition{{Type: meta.ReadyCondition, Status: status, Reason: reason, Message: reason}}
}

func TestRead(t *testing.T) {
	artifact := &meta.Artifact{Revision: "main@sha1:abc"}
	for sentence, test := range map[string]struct {
		o    client.Object
		want string
	}{
		"a Git repository": {&sourcev1.GitRepository{ObjectMeta: here1, Spec: sourcev1.GitRepositorySpec{URL: "https://x/y"},
			Status: sourcev1.GitRepositoryStatus{Artifact: artifact, Conditions: with("Succeeded", metav1.ConditionTrue)}},
			"GitRepository ready https://x/y main@sha1:abc fetched:true held: /sources/gitrepository/prod/a"},
		"suspended": {&sourcev1.Bucket{ObjectMeta: here1, Spec: sourcev1.BucketSpec{Endpoint: "s3", BucketName: "b", Suspend: true}},
			"Bucket suspended s3/b  fetched:true held: /sources/bucket/prod/a"},
		"pushed": {&sourcev1.ExternalArtifact{ObjectMeta: here1}, "ExternalArtifact running pushed  fetched:false held: /sources/externalartifact/prod/a"},
		"a held pruning": {&kustomizev1.Kustomization{ObjectMeta: here1, Spec: kustomizev1.KustomizationSpec{Path: "./apps", SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "r"}},
			Status: kustomizev1.KustomizationStatus{LastAppliedRevision: "1", LastAttemptedRevision: "2", Conditions: with("PruneHeld", metav1.ConditionFalse)}},
			"Kustomization pending GitRepository prod/r, apps 1 fetched:true held:2 /sources/kustomization/prod/a"},
		"an unknown reason is a failure": {&sourcev1.OCIRepository{ObjectMeta: here1, Spec: sourcev1.OCIRepositorySpec{URL: "oci://x"},
			Status: sourcev1.OCIRepositoryStatus{Conditions: with("AuthenticationFailed", metav1.ConditionFalse)}}, "OCIRepository failed oci://x  fetched:true held: /sources/ocirepository/prod/a"},
		"a repository of charts": {&sourcev1.HelmRepository{ObjectMeta: here1, Spec: sourcev1.HelmRepositorySpec{URL: "https://ada:hunter2@charts.acme.example"},
			Status: sourcev1.HelmRepositoryStatus{Artifact: artifact, Conditions: with("Succeeded", metav1.ConditionTrue)}},
			"HelmRepository ready https://charts.acme.example main@sha1:abc fetched:true held: /sources/helmrepository/prod/a"},
		"nothing reports on a registry of charts": {&sourcev1.HelmRepository{ObjectMeta: here1, Spec: sourcev1.HelmRepositorySpec{Type: "oci", URL: "oci://r/charts"}},
			"HelmRepository ready oci://r/charts  fetched:false held: /sources/helmrepository/prod/a"},
		"a chart": {&sourcev1.HelmChart{ObjectMeta: here1, Spec: sourcev1.HelmChartSpec{Chart: "web", SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: "HelmRepository", Name: "acme"}},
			Status: sourcev1.HelmChartStatus{Artifact: &meta.Artifact{Revision: "1.2.0"}, Conditions: with("ChartPullSucceeded", metav1.ConditionTrue)}},
			"HelmChart ready HelmRepository prod/acme, web 1.2.0 fetched:true held: /sources/helmchart/prod/a"},
		"a release has the version of its newest chart": {&helmv2.HelmRelease{ObjectMeta: here1, Spec: helmv2.HelmReleaseSpec{ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "web", Namespace: "charts"}},
			Status: helmv2.HelmReleaseStatus{History: helmv2.Snapshots{{Version: 2, ChartVersion: "1.1.0"}, {Version: 1, ChartVersion: "1.0.0"}}, LastAttemptedRevision: "1.2.0", Conditions: with("UpgradeFailed", metav1.ConditionFalse)}},
			"HelmRelease failed OCIRepository charts/web 1.1.0 fetched:true held: /sources/helmrelease/prod/a"},
		"a release of a chart by name": {&helmv2.HelmRelease{ObjectMeta: here1, Spec: helmv2.HelmReleaseSpec{Chart: &helmv2.HelmChartTemplate{}}},
			"HelmRelease running HelmChart prod/prod-a  fetched:true held: /sources/helmrelease/prod/a"},
		"an image": {&imagev1.ImageRepository{ObjectMeta: here1, Spec: imagev1.ImageRepositorySpec{Image: "ghcr.io/acme/app"}, Status: imagev1.ImageRepositoryStatus{
			LastScanResult: &imagev1.ScanResult{TagCount: 3}, Conditions: with("Succeeded", metav1.ConditionTrue)}}, "ImageRepository ready ghcr.io/acme/app 3 tags fetched:true held: /sources/imagerepository/prod/a"},
		"an image policy": {&imagev1.ImagePolicy{ObjectMeta: here1, Spec: imagev1.ImagePolicySpec{ImageRepositoryRef: meta.NamespacedObjectReference{Name: "app"}},
			Status: imagev1.ImagePolicyStatus{LatestRef: &imagev1.ImageRef{Name: "ghcr.io/acme/app", Tag: "1.1.0"}, Conditions: with("Succeeded", metav1.ConditionTrue)}},
			"ImagePolicy ready ImageRepository prod/app 1.1.0 fetched:true held: /sources/imagepolicy/prod/a"},
		"an image automation": {&automationv1.ImageUpdateAutomation{ObjectMeta: here1, Spec: automationv1.ImageUpdateAutomationSpec{SourceRef: automationv1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "infra"}},
			Status: automationv1.ImageUpdateAutomationStatus{LastPushCommit: "abc", Conditions: with("PushRefused", metav1.ConditionFalse)}},
			"ImageUpdateAutomation failed GitRepository prod/infra sha1:abc fetched:true held: /sources/imageupdateautomation/prod/a"},
	} {
		v := read(test.o)
		if got := fmt.Sprintf("%s %s %s %s fetched:%v held:%s %s", v.Kind, v.State, v.From, v.Revision, v.Fetched, v.Held, v.Address); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", sentence, got, test.want)
		}
	}
}

func TestCredentialsInAddressesAreNotShown(t *testing.T) {
	for address, want := range map[string]string{
		"https://ada:hunter2@example.com/x.git": "https://example.com/x.git", "https://ghp_token@example.com/x": "https://example.com/x", "http://:p@h/x@y": "http://h/x@y",
		"https://example.com/a@b": "https://example.com/a@b", "ssh://git@example.com/x": "ssh://git@example.com/x", "oci://r/x": "oci://r/x",
	} {
		v := read(&sourcev1.GitRepository{ObjectMeta: here1, Spec: sourcev1.GitRepositorySpec{URL: address}})
		if v.From != want || v.matches("hunter2") {
			t.Errorf("%s is shown as %s", address, v.From)
		}
	}
}

func TestInventoryName(t *testing.T) {
	for id, want := range map[string]string{"prod_a_apps_Deployment": "Deployment prod/a", "_a__Namespace": "Namespace a", "odd": "odd"} {
		if got := inventoryName(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}
