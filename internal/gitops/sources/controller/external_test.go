// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// pushed makes an ExternalArtifact whose archive, if any, is at a URL.
func (s *site) pushed(name, digest, url string) *sourcev1.ExternalArtifact {
	s.t.Helper()
	o := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	s.create(o)
	o.Status.Artifact = &meta.Artifact{Digest: digest, Revision: "latest@" + digest, URL: url, Path: "x", LastUpdateTime: metav1.Now()}
	conditions.Set(o, meta.ReadyCondition, metav1.ConditionTrue, meta.SucceededReason, "stored")
	if err := s.client.Status().Update(s.t.Context(), o); err != nil {
		s.t.Fatal(err)
	}
	return o
}

func TestAPushedArchiveThatIsGoneIsTold(t *testing.T) {
	s := newSite(t)
	var content strings.Builder
	digest, err := archive.PackInline(map[string]string{"a": "1"}, &content)
	if err != nil {
		t.Fatal(err)
	}
	// The server had another address when it was pushed.
	o := s.pushed("live", digest, "https://old.test:7443/externalartifacts/live?digest="+digest+"&store=mine")
	// Nor did it say then which store is meant: without the archive nobody knows whose it is.
	unsaid := s.pushed("unsaid", digest, "https://old.test:7443/externalartifacts/unsaid?digest="+digest)
	foreign := s.pushed("foreign", digest, "http://generator.test/artifact.tar.gz")
	anothers := s.pushed("anothers", digest, "https://another.test:7443/externalartifacts/anothers?digest="+digest+"&store=another")
	s.awaitFailure(o, ReasonArchiveMissing)
	want := []string{"Ready=False ArchiveMissing: the archive of 'latest@" + digest + "' is missing from the store or damaged. Push the directory again:\n    yuba push live DIR -n " + s.namespace}
	if diff := cmp.Diff(want, conditionLines(o)); diff != "" {
		t.Error(diff)
	}
	if want := "https://yuba.test/externalartifacts/live?digest=" + digest + "&store=mine"; o.Status.Artifact.URL != want {
		t.Errorf("its URL is %s, want %s", o.Status.Artifact.URL, want)
	}
	// What others serve is theirs.
	s.await(foreign, "it stays as it is", func() bool { return conditions.Of(foreign, meta.ReadyCondition).Status == metav1.ConditionTrue })
	s.await(anothers, "it stays as it is", func() bool { return conditions.Of(anothers, meta.ReadyCondition).Status == metav1.ConditionTrue })
	if unsaid.Status.Artifact.URL != "https://old.test:7443/externalartifacts/unsaid?digest="+digest {
		t.Error(unsaid.Status.Artifact.URL)
	}
	if foreign.Status.Artifact.URL != "http://generator.test/artifact.tar.gz" || !strings.HasPrefix(anothers.Status.Artifact.URL, "https://another.test") {
		t.Error(foreign.Status.Artifact.URL, anothers.Status.Artifact.URL)
	}
	if _, _, err := s.blobs.PutArtifact(t.Context(), strings.NewReader(content.String()), 1000); err != nil {
		t.Fatal(err)
	}
	s.change(o, func() { o.Labels = map[string]string{"touched": "yes"} })
	s.change(unsaid, func() { unsaid.Labels = map[string]string{"touched": "yes"} })
	s.await(unsaid, "its URL says which store has it", func() bool {
		return unsaid.Status.Artifact.URL == "https://yuba.test/externalartifacts/unsaid?digest="+digest+"&store=mine"
	})
	s.await(o, "it is ready again", func() bool { return conditions.Of(o, meta.ReadyCondition).Status == metav1.ConditionTrue })
}

func TestWhoseAnArchiveIs(t *testing.T) {
	const want = "https://yuba.test/archives/live?digest=sha256:0&store=mine"
	for url, is := range map[string]struct{ own, unsaid bool }{
		want: {own: true},
		"http://old.test:1/archives/live?digest=sha256:0&store=mine":    {own: true},
		"http://old.test:1/archives/live?digest=sha256:0":               {unsaid: true},
		"http://old.test:1/archives/live?digest=sha256:1":               {},
		"http://old.test:1/archives/another?digest=sha256:0":            {},
		"https://yuba.test/archives/live?digest=sha256:0&store=another": {},
		"https://yuba.test/archives/live":                               {},
		"":                                                              {},
	} {
		if own, unsaid := isOurs(url, want); own != is.own || unsaid != is.unsaid {
			t.Errorf("%q: own %t, unsaid %t; want %+v", url, own, unsaid, is)
		}
	}
}
