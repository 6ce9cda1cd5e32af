// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/identity"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// objectStore is an S3 server on loopback.
type objectStore struct {
	*httptest.Server
	objects *s3mem.Backend

	mu   sync.Mutex
	away bool
}

func newObjectStore(t *testing.T) *objectStore {
	t.Helper()
	s := &objectStore{objects: s3mem.New()}
	inner := gofakes3.New(s.objects, gofakes3.WithTimeSkewLimit(0)).Server()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		away := s.away
		s.mu.Unlock()
		switch {
		case away:
			w.WriteHeader(http.StatusBadGateway)
		case !strings.Contains(r.Header.Get("Authorization"), "Credential=key/"):
			w.WriteHeader(http.StatusForbidden)
		default:
			inner.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	if err := s.objects.CreateBucket("code"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *objectStore) put(t *testing.T, name, content string) {
	t.Helper()
	if _, err := s.objects.PutObject("code", name, nil, strings.NewReader(content), int64(len(content)), nil); err != nil {
		t.Fatal(err)
	}
}

func (s *objectStore) setAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

func withBuckets(s *Sources) { s.Bucket = NewBucket(s.Reader, archive.Limits{}.WithDefaults(), nil) }

func TestABucketIsFollowed(t *testing.T) {
	store := newObjectStore(t)
	store.put(t, "infra/main.tf", "one")
	store.put(t, "infra/logo.png", "p")
	store.put(t, "other/x", "x")
	s := newSite(t, withBuckets)
	s.secret("s3", map[string]string{"accesskey": "key", "secretkey": "secret"})
	o := &sourcev1.Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "code"}, Spec: sourcev1.BucketSpec{
		Endpoint: store.Listener.Addr().String(), BucketName: "code", Insecure: true, SecretRef: ref("s3"), Prefix: "infra/", Interval: metav1.Duration{Duration: time.Hour}}}
	s.create(o)
	s.await(o, "it is ready", func() bool { return conditions.Of(o, meta.ReadyCondition).Status == metav1.ConditionTrue })
	// Unlike with repositories nothing is left out by default.
	if diff := cmp.Diff(map[string]string{"infra/main.tf": "one", "infra/logo.png": "p"}, s.tree(o)); diff != "" {
		t.Error(diff)
	}
	first := o.Status.Artifact.Revision
	message := "stored artifact: revision '" + first + "'"
	if diff := cmp.Diff([]string{"ArtifactInStorage=True Succeeded: " + message, "Ready=True Succeeded: " + message}, conditionLines(o)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"code Normal NewArtifact: stored artifact with 2 fetched files from 'code' bucket"}, s.told(1)); diff != "" {
		t.Error(diff)
	}
	store.put(t, "infra/main.tf", "two")
	s.request(o, "changed")
	s.await(o, "it has what is new", func() bool { return o.Status.Artifact.Revision != first })
	if got := s.tree(o)["infra/main.tf"]; got != "two" {
		t.Error(got)
	}
	store.setAway(true)
	s.request(o, "away")
	s.awaitFailure(o, sourcev1.BucketOperationFailedReason)
	if got := s.tree(o)["infra/main.tf"]; got != "two" {
		t.Error(got)
	}
	store.setAway(false)
	s.change(o, func() { ignore := "*.png\n"; o.Spec.Ignore = &ignore })
	s.await(o, "it leaves out what is ignored", func() bool {
		return o.Status.ObservedIgnore != nil && conditions.Of(o, meta.ReadyCondition).Status == metav1.ConditionTrue
	})
	if diff := cmp.Diff(map[string]string{"infra/main.tf": "two"}, s.tree(o)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatBucketsReferTo(t *testing.T) {
	store := newObjectStore(t)
	reader, namespace := made(t, opaque("s3", map[string]string{"accesskey": "key", "secretkey": "secret"}), opaque("empty", nil),
		opaque("other", map[string]string{"password": "hunter2"}))
	upstream := NewBucket(reader, archive.Limits{}, nil)
	look := func(change func(*sourcev1.BucketSpec)) (*Found, error) {
		o := &sourcev1.Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "code"}, Spec: sourcev1.BucketSpec{
			Endpoint: store.Listener.Addr().String(), BucketName: "code", Insecure: true, SecretRef: ref("s3"), Interval: metav1.Duration{Duration: time.Hour}}}
		change(&o.Spec)
		return upstream.Look(t.Context(), o, false)
	}
	for sentence, change := range map[string]func(*sourcev1.BucketSpec){
		"no provider": func(*sourcev1.BucketSpec) {},
		"generic":     func(s *sourcev1.BucketSpec) { s.Provider = "generic" },
		"aws":         func(s *sourcev1.BucketSpec) { s.Provider, s.Region = "aws", "eu-central-1" },
	} {
		if found, err := look(change); err != nil || !strings.HasPrefix(found.Revision, "sha256:") {
			t.Errorf("%s: %+v %v", sentence, found, err)
		}
	}
	for sentence, c := range map[string]struct {
		change  func(*sourcev1.BucketSpec)
		reason  string
		stalled bool
		message string
	}{
		"a Secret that is not":               {func(s *sourcev1.BucketSpec) { s.SecretRef = ref("none") }, "AuthenticationFailed", false, "secret '" + namespace + "/none'"},
		"an empty Secret":                    {func(s *sourcev1.BucketSpec) { s.SecretRef = ref("empty") }, "AuthenticationFailed", false, "accesskey and secretkey"},
		"a Secret of something else":         {func(s *sourcev1.BucketSpec) { s.SecretRef = ref("other") }, "AuthenticationFailed", false, "accesskey and secretkey"},
		"nobody":                             {func(s *sourcev1.BucketSpec) { s.SecretRef = nil }, "BucketOperationFailed", false, "403"},
		"the machine's identity at Amazon":   {func(s *sourcev1.BucketSpec) { s.Provider, s.SecretRef = "aws", nil }, "InvalidProviderConfiguration", true, "which sources may not use"},
		"the machine's identity at Google":   {func(s *sourcev1.BucketSpec) { s.Provider, s.SecretRef = "gcp", nil }, "InvalidProviderConfiguration", true, "the key of a service account"},
		"the identity of a ServiceAccount":   {func(s *sourcev1.BucketSpec) { s.Provider, s.ServiceAccountName = "aws", "x" }, "InvalidProviderConfiguration", true, "remove spec.serviceAccountName"},
		"tokens of a service for them":       {func(s *sourcev1.BucketSpec) { s.STS = &sourcev1.BucketSTSSpec{Provider: "ldap", Endpoint: "https://x"} }, "InvalidSTSConfiguration", true, "spec.sts is not supported"},
		"a Secret that Google does not know": {func(s *sourcev1.BucketSpec) { s.Provider = "gcp" }, "AuthenticationFailed", false, "the entry serviceaccount"},
		"a Secret that Azure does not know":  {func(s *sourcev1.BucketSpec) { s.Provider, s.Endpoint = "azure", store.URL }, "AuthenticationFailed", false, "accountKey, or sasKey"},
		"an endpoint that is a URL":          {func(s *sourcev1.BucketSpec) { s.Endpoint = "https://hunter2@x" }, "URLInvalid", true, "spec.endpoint must be a host"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := look(c.change)
			wantFetchError(t, err, c.reason, c.stalled, c.message)
		})
	}
}

func TestServerIdentityOfBuckets(t *testing.T) {
	reader, namespace := made(t, opaque("ca", map[string]string{"ca.crt": "x"}))
	allowed, err := identity.New([]string{"aws"})
	if err != nil {
		t.Fatal(err)
	}
	upstream := NewBucket(reader, archive.Limits{}, allowed)
	for sentence, c := range map[string]struct {
		change  func(*sourcev1.BucketSpec)
		message string
	}{
		"another provider":           {func(s *sourcev1.BucketSpec) { s.Provider = "gcp" }, "An administrator can allow it: --source-identities=gcp"},
		"an endpoint of somebody":    {func(s *sourcev1.BucketSpec) { s.Endpoint = "minio.example.com" }, "spec.endpoint must be one of the provider"},
		"an authority of the source": {func(s *sourcev1.BucketSpec) { s.CertSecretRef = ref("ca") }, "remove spec.insecure"},
		"plain HTTP":                 {func(s *sourcev1.BucketSpec) { s.Insecure = true }, "remove spec.insecure"},
		"an account of the source":   {func(s *sourcev1.BucketSpec) { s.ServiceAccountName = "x" }, "remove spec.serviceAccountName"},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := &sourcev1.Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "code"}, Spec: sourcev1.BucketSpec{
				Provider: "aws", Endpoint: "s3.eu-central-1.amazonaws.com", BucketName: "code", Interval: metav1.Duration{Duration: time.Hour}}}
			c.change(&o.Spec)
			_, err := upstream.Look(t.Context(), o, false)
			wantFetchError(t, err, "InvalidProviderConfiguration", true, c.message)
		})
	}
}
