// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
)

// image is an OCIRepository of an hour's interval.
func (s *site) image(name, url string, ref *sourcev1.OCIRepositoryRef, change ...func(*sourcev1.OCIRepository)) *sourcev1.OCIRepository {
	s.t.Helper()
	o := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: sourcev1.OCIRepositorySpec{URL: url, Interval: metav1.Duration{Duration: time.Hour}, Reference: ref, Insecure: true}}
	for _, c := range change {
		c(o)
	}
	s.create(o)
	return o
}

func withRegistries(s *Sources) { s.OCI = NewOCI(s.Reader, archive.Limits{}.WithDefaults(), nil) }

func TestAnOCIRepositoryFollowsItsRange(t *testing.T) {
	registry := ocitest.New(t)
	first := registry.Push(t, "vpc", "1.0.0", ocitest.Files{"main.tf": "one"})
	s := newSite(t, withRegistries)
	o := s.image("vpc", registry.URL("vpc"), &sourcev1.OCIRepositoryRef{SemVer: "1.x"})
	s.awaitRevision(o, "1.0.0@"+first)
	if diff := cmp.Diff(map[string]string{"main.tf": "one"}, s.tree(o)); diff != "" {
		t.Error(diff)
	}
	if o.Status.Artifact.Metadata["org.opencontainers.image.source"] != "https://example.com/vpc" || o.Status.URL != o.Status.Artifact.URL {
		t.Errorf("%+v", o.Status)
	}
	want := []string{"ArtifactInStorage=True Succeeded: stored artifact for digest '1.0.0@" + first + "'", "Ready=True Succeeded: stored artifact for digest '1.0.0@" + first + "'"}
	if diff := cmp.Diff(want, conditionLines(o)); diff != "" {
		t.Error(diff)
	}
	second := registry.Push(t, "vpc", "1.1.0", ocitest.Files{"main.tf": "two"})
	registry.Push(t, "vpc", "2.0.0", ocitest.Files{"main.tf": "three"})
	s.request(o, "now")
	s.awaitRevision(o, "1.1.0@"+second)
	said := s.told(2)
	if len(said) != 2 || !strings.Contains(said[1], "vpc Normal NewArtifact: stored artifact with revision '1.1.0@"+second+"' from '"+registry.URL("vpc")+"'") {
		t.Errorf("%q", said)
	}
	// What nothing meets is told, and what was there serves on.
	s.change(o, func() { o.Spec.Reference.SemVer = "9.x" })
	s.await(o, "it says that there is none", func() bool { return conditions.Of(o, meta.ReadyCondition).Status == metav1.ConditionFalse })
	if o.Status.Artifact.Revision != "1.1.0@"+second || !strings.Contains(conditions.Of(o, meta.ReadyCondition).Message, "9.x") {
		t.Error(conditionLines(o))
	}
}

func TestManyOfOneRegistryHearOfEachOthersNews(t *testing.T) {
	registry := ocitest.New(t)
	first := registry.Push(t, "vpc", "1.0.0", ocitest.Files{"main.tf": "one"})
	s := newSite(t, withRegistries)
	var all []*sourcev1.OCIRepository
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		all = append(all, s.image(name, registry.URL("vpc"), &sourcev1.OCIRepositoryRef{SemVer: ">=1.0.0"}))
	}
	for _, o := range all {
		s.awaitRevision(o, "1.0.0@"+first)
	}
	second := registry.Push(t, "vpc", "1.1.0", ocitest.Files{"main.tf": "two"})
	s.request(all[3], "now")
	for _, o := range all {
		s.awaitRevision(o, "1.1.0@"+second)
	}
	t.Logf("%+v", registry.Counts("vpc"))
}

func TestALayerIsCopiedAsItIs(t *testing.T) {
	registry := ocitest.New(t)
	digest := registry.Push(t, "vpc", "1.0.0", ocitest.Files{"main.tf": "one", "pic.png": "p"})
	s := newSite(t, withRegistries)
	o := s.image("vpc", registry.URL("vpc"), &sourcev1.OCIRepositoryRef{Tag: "1.0.0"}, func(o *sourcev1.OCIRepository) {
		o.Spec.LayerSelector = &sourcev1.OCILayerSelector{Operation: sourcev1.OCILayerCopy}
	})
	s.awaitRevision(o, "1.0.0@"+digest)
	if got := s.tree(o); got["main.tf"] != "one" || got["pic.png"] != "p" {
		t.Error(got)
	}
	registry.SetFault(faulttest.Answer(http.StatusBadGateway))
	s.request(o, "now")
	s.await(o, "it fails", func() bool { return conditions.Of(o, sourcev1.FetchFailedCondition).Status == metav1.ConditionTrue })
	if o.Status.Artifact == nil {
		t.Error("the artifact went")
	}
}
