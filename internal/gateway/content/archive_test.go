// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// download asks the API for a path, as a client of the artifact's URL would.
func (s *site) download(role, path string) (int, []byte) {
	s.t.Helper()
	config := rest.CopyConfig(apitest.API(s.t).RESTConfig())
	if role != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: role + "-of-" + s.namespace}
	}
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, config.Host+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := c.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, body
}

func TestArchivesOfAllKindsOfSourcesAreServed(t *testing.T) {
	s := newSite(t)
	sent := packed(t, map[string]string{"main.tf": "# one"})
	want, err := io.ReadAll(sent)
	if err != nil {
		t.Fatal(err)
	}
	digest, _, err := s.blobs.PutArtifact(t.Context(), bytes.NewReader(want), 1000)
	if err != nil {
		t.Fatal(err)
	}
	s.as("edit")
	s.as("view")
	interval := metav1.Duration{Duration: 3600e9}
	in := metav1.ObjectMeta{Namespace: s.namespace, Name: "src"}
	stored := &meta.Artifact{Digest: digest, Revision: "r", Path: "x", URL: "x", LastUpdateTime: metav1.Now()}
	for plural, o := range map[string]client.Object{
		"gitrepositories":   &sourcev1.GitRepository{ObjectMeta: in, Spec: sourcev1.GitRepositorySpec{URL: "https://git.test/x", Interval: interval}},
		"ocirepositories":   &sourcev1.OCIRepository{ObjectMeta: in, Spec: sourcev1.OCIRepositorySpec{URL: "oci://reg.test/x", Interval: interval}},
		"buckets":           &sourcev1.Bucket{ObjectMeta: in, Spec: sourcev1.BucketSpec{BucketName: "b", Endpoint: "s3.test", Interval: interval}},
		"externalartifacts": &sourcev1.ExternalArtifact{ObjectMeta: in},
	} {
		t.Run(plural, func(t *testing.T) {
			c := apitest.Client(t)
			if err := c.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			url := func(digest string) string {
				return content.ArchiveURL("", plural, types.NamespacedName{Namespace: s.namespace, Name: "src"}, digest, "")
			}
			if code, _ := s.download("", url(digest)); code != http.StatusNotFound {
				t.Errorf("without an artifact: %d", code)
			}
			switch o := o.(type) {
			case *sourcev1.GitRepository:
				o.Status.Artifact = stored
			case *sourcev1.OCIRepository:
				o.Status.Artifact = stored
			case *sourcev1.Bucket:
				o.Status.Artifact = stored
			case *sourcev1.ExternalArtifact:
				o.Status.Artifact = stored
			}
			if err := c.Status().Update(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if code, body := s.download("", url(digest)); code != http.StatusOK || !bytes.Equal(body, want) {
				t.Errorf("%d, %d bytes", code, len(body))
			}
			if code, _ := s.download("", url("sha256:"+fmt.Sprintf("%064d", 1))); code != http.StatusNotFound {
				t.Errorf("another digest: %d", code)
			}
			// Sources may hold what not everybody who sees the objects may read.
			eventually(t, func() error {
				may, _ := s.download("edit", url(digest))
				mayNot, _ := s.download("view", url(digest))
				if may != http.StatusOK || mayNot != http.StatusForbidden {
					return fmt.Errorf("edit: %d, view: %d", may, mayNot)
				}
				return nil
			})
		})
	}
}

func TestAnArchiveThatGotLostIsPushedAgainWithTheSameContent(t *testing.T) {
	s := newSite(t)
	c := s.as("")
	pushed, err := c.Push(t.Context(), s.namespace, "live", packed(t, map[string]string{"main.tf": "# one"}))
	if err != nil {
		t.Fatal(err)
	}
	var o sourcev1.ExternalArtifact
	key := client.ObjectKey{Namespace: s.namespace, Name: "live"}
	if err := apitest.Client(t).Get(t.Context(), key, &o); err != nil {
		t.Fatal(err)
	}
	apimeta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{Type: meta.ReadyCondition, Status: metav1.ConditionFalse, Reason: "ArchiveMissing", Message: "gone"})
	if err := apitest.Client(t).Status().Update(t.Context(), &o); err != nil {
		t.Fatal(err)
	}
	again, err := c.Push(t.Context(), s.namespace, "live", packed(t, map[string]string{"main.tf": "# one"}))
	if err != nil || again.Digest != pushed.Digest || !again.Changed {
		t.Errorf("%+v, %v", again, err)
	}
	if err := apitest.Client(t).Get(t.Context(), key, &o); err != nil || !apimeta.IsStatusConditionTrue(o.Status.Conditions, meta.ReadyCondition) {
		t.Errorf("%+v, %v", o.Status.Conditions, err)
	}
}
