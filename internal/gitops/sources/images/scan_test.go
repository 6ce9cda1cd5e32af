// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	"github.com/fluxcd/pkg/apis/acl"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
)

func TestAPolicyFollowsAnImage(t *testing.T) {
	s, registry := newSite(t), ocitest.New(t)
	first := registry.Push(t, "acme/app", "1.0.0", ocitest.Files{"a": "1"})
	registry.Tag(t, "acme/app", "1.0.0", "1.0.0.sig")
	app := s.scanned(registry.Host() + "/acme/app")
	policy := s.policy("app", "1.x")
	digests := s.policy("digests", "1.x", func(o *imagev1.ImagePolicy) { o.Spec.DigestReflectionPolicy = imagev1.ReflectIfNotPresent })
	s.ready(app, "successful scan: found 1 tag")
	if app.Status.CanonicalImageName != registry.Host()+"/acme/app" || app.Status.LastScanResult.TagCount != 1 || app.Status.LastScanResult.Revision == "" {
		t.Errorf("%+v", app.Status)
	}
	s.ready(policy, "Latest image tag for "+registry.Host()+"/acme/app resolved to 1.0.0")
	s.ready(digests, "with digest "+first)
	registry.Push(t, "acme/app", "1.1.0", ocitest.Files{"a": "2"})
	registry.Push(t, "acme/app", "2.0.0", ocitest.Files{"a": "3"})
	s.ask(app)
	s.ready(policy, "resolved to 1.1.0 (previously "+registry.Host()+"/acme/app:1.0.0)")
	if policy.Status.ObservedPreviousRef == nil || policy.Status.ObservedPreviousRef.Tag != "1.0.0" {
		t.Errorf("%+v", policy.Status)
	}
	s.ready(app, "found 3 tags")
	if diff := cmp.Diff([]string{"2.0.0", "1.1.0", "1.0.0"}, app.Status.LastScanResult.LatestTags); diff != "" {
		t.Error(diff)
	}
	// What no tag matches is said, and the elected image stays.
	s.change(policy, func() { policy.Spec.Policy.SemVer.Range = "9.x" })
	s.failed(policy, "Failure", `none of the 3 selected tags is a version within "9.x"`)
	if policy.Status.LatestRef.Tag != "1.1.0" {
		t.Errorf("%+v", policy.Status.LatestRef)
	}
	s.change(policy, func() { policy.Spec.FilterTags = &imagev1.TagFilter{Pattern: "("} })
	s.failed(policy, "InvalidPolicy", "not a valid regular expression")
	for _, words := range []string{"Normal Succeeded: successful scan: found 3 tags", "Normal Succeeded: Latest image tag for", "Warning InvalidPolicy"} {
		s.told(words)
	}
}

// After a restart nothing is forgotten, while the registry is unreachable as well.
func TestARestartKeepsWhatWasElected(t *testing.T) {
	s, registry := newSite(t), ocitest.New(t)
	registry.Push(t, "acme/app", "1.0.0", ocitest.Files{"a": "1"})
	app, policy := s.scanned(registry.Host()+"/acme/app"), s.policy("app", "1.x")
	s.ready(policy, "1.0.0")
	version := policy.ResourceVersion
	s.end()
	registry.SetFault(faulttest.Answer(http.StatusServiceUnavailable))
	s.start()
	s.failed(app, "ReadOperationFailed", "503")
	s.ready(policy, "1.0.0")
	if policy.ResourceVersion != version {
		t.Error("the policy was written")
	}
	registry.SetFault(nil)
	registry.Push(t, "acme/app", "1.2.0", ocitest.Files{"a": "2"})
	s.ask(app)
	s.ready(policy, "1.2.0")
}

func TestAlwaysReflectsAMovedTag(t *testing.T) {
	s, registry := newSite(t), ocitest.New(t)
	first := registry.Push(t, "acme/app", "1.0.0", ocitest.Files{"a": "1"})
	s.scanned(registry.Host() + "/acme/app")
	always := s.policy("always", "1.x", func(o *imagev1.ImagePolicy) {
		o.Spec.DigestReflectionPolicy, o.Spec.Interval = imagev1.ReflectAlways, &metav1.Duration{Duration: time.Second}
	})
	once := s.policy("once", "1.x", func(o *imagev1.ImagePolicy) { o.Spec.DigestReflectionPolicy = imagev1.ReflectIfNotPresent })
	s.ready(always, first)
	s.ready(once, first)
	second := registry.Push(t, "acme/app", "1.0.0", ocitest.Files{"a": "2"})
	s.ready(always, second)
	s.ask(once)
	s.ready(once, first)
}

func TestPrivateImagesAndWrongOnes(t *testing.T) {
	s, registry := newSite(t), ocitest.New(t, ocitest.BasicAuth("reader", "s3cret"))
	registry.Push(t, "acme/app", "1.0.0", ocitest.Files{"a": "1"})
	app := s.scanned(registry.Host()+"/acme/app", func(o *imagev1.ImageRepository) { o.Spec.SecretRef = &meta.LocalObjectReference{Name: "registry"} })
	s.failed(app, "AuthenticationFailed", s.namespace+"/registry does not exist")
	s.failed(s.policy("app", "1.x"), "DependencyNotReady", "does not exist")
	secret := &corev1.Secret{ObjectMeta: s.named("registry"), Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: fmt.Appendf(nil, `{"auths": {%q: {"username": "reader", "password": "wrong-s3cret"}}}`, registry.Host())}}
	s.create(secret)
	s.failed(app, "ReadOperationFailed", "401", "spec.secretRef")
	s.change(secret, func() {
		secret.Data[corev1.DockerConfigJsonKey] = fmt.Appendf(nil, `{"auths": {%q: {"username": "reader", "password": "s3cret"}}}`, registry.Host())
	})
	s.ready(app, "found 1 tag")
	s.change(app, func() { app.Spec.Image = "oci://x/y" })
	s.failed(app, "ImageURLInvalid", "without a scheme")
	s.change(app, func() { app.Spec.Image = registry.Host() + "/acme/app:1.0.0" })
	s.failed(app, "ImageURLInvalid", "a tag or a digest")
	s.change(app, func() { app.Spec.Image, app.Spec.Provider = registry.Host()+"/acme/app", "aws" })
	s.failed(app, "InvalidProviderConfiguration", "not supported for images")
	s.change(app, func() { app.Spec.Provider, app.Spec.ExclusionList = "generic", []string{"("} })
	s.failed(app, "InvalidExclusionList", "spec.exclusionList[0]")
	s.change(app, func() { app.Spec.Suspend, app.Spec.ExclusionList = true, nil })
	s.change(app, func() { app.Spec.Suspend, app.Spec.ExclusionList = false, []string{"^1"} })
	s.ready(app, "found 0 tags")
}

func TestImagesOfOtherNamespaces(t *testing.T) {
	registry, owner := ocitest.New(t), apitest.Namespace(t)
	s := newSite(t, owner)
	registry.Push(t, "acme/app", "1.0.0", ocitest.Files{"a": "1"})
	app := s.scanned(registry.Host()+"/acme/app", func(o *imagev1.ImageRepository) { o.Namespace = owner })
	s.ready(app, "found 1 tag")
	policy := s.policy("app", "1.x", func(o *imagev1.ImagePolicy) { o.Spec.ImageRepositoryRef.Namespace = owner })
	s.failed(policy, acl.AccessDeniedReason, "accessFrom does not allow the namespace "+s.namespace)
	nobody := s.policy("nobody", "1.x", func(o *imagev1.ImagePolicy) {
		o.Spec.ImageRepositoryRef = meta.NamespacedObjectReference{Namespace: owner, Name: "none"}
	})
	s.failed(nobody, acl.AccessDeniedReason, "does not exist, or its spec.accessFrom")
	s.change(app, func() {
		app.Spec.AccessFrom = &acl.AccessFrom{NamespaceSelectors: []acl.NamespaceSelector{{MatchLabels: map[string]string{"kubernetes.io/metadata.name": s.namespace}}}}
	})
	s.ready(policy, "1.0.0")
}

// lies is a registry that lists tags as a test wants.
func lies(t *testing.T, list http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/tags/list") {
			list(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://") + "/acme/app"
}

func TestHostileRegistries(t *testing.T) {
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprintf("%q", fmt.Sprintf("1.%d.0", i))
	}
	for name, c := range map[string]struct {
		list  http.HandlerFunc
		ready string
		words []string
	}{
		"names that are no tags": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"tags": ["1.0.0", "\u001b[2J", "a\nb", "", "1.0.0"]}`)
		}, "found 1 tag; 3 of 5 names are not valid tags and were left out", nil},
		"a page that follows itself": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", "<"+r.URL.String()+`>; rel="next"`)
			fmt.Fprint(w, `{"tags": ["1.0.0"]}`)
		}, "", []string{"one that was read already"}},
		"pages without an end": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", fmt.Sprintf(`</v2/acme/app/tags/list?n=%sx>; rel="next"`, r.URL.Query().Get("n")))
			fmt.Fprint(w, `{"tags": ["1.0.0"]}`)
		}, "", []string{"the number of pages of tags"}},
		"a page elsewhere": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", `<http://169.254.169.254/v2/x>; rel="next"`)
			fmt.Fprint(w, `{"tags": ["1.0.0"]}`)
		}, "", []string{"on another server"}},
		"a hundred thousand tags": {func(w http.ResponseWriter, r *http.Request) {
			n := 0
			_, _ = fmt.Sscanf(r.URL.Query().Get("page"), "%d", &n)
			if n < 99 {
				w.Header().Set("Link", fmt.Sprintf(`</v2/acme/app/tags/list?page=%d>; rel="next"`, n+1))
			}
			var page []string
			for i := range 1000 {
				page = append(page, fmt.Sprintf("%q", fmt.Sprintf("%d.%d.0", n, i)))
			}
			fmt.Fprintf(w, `{"tags": [%s]}`, strings.Join(page, ","))
		}, "found 100000 tags", nil},
		"more than that, and more": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", fmt.Sprintf(`</v2/acme/app/tags/list?n=%sx>; rel="next"`, r.URL.Query().Get("n")))
			fmt.Fprintf(w, `{"tags": [%s]}`, strings.Join(append(many, many...), ","))
		}, "", []string{"the number of tags"}},
		"not JSON": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "", []string{"the registry's response is invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			app := s.scanned(lies(t, c.list))
			if c.ready != "" {
				s.ready(app, c.ready)
				return
			}
			s.failed(app, "ReadOperationFailed", c.words...)
		})
	}
}

// A registry that never answers delays nobody else.
func TestASlowRegistryDelaysNobodyElse(t *testing.T) {
	s, registry := newSite(t), ocitest.New(t)
	release := make(chan struct{})
	defer close(release)
	slow := lies(t, func(http.ResponseWriter, *http.Request) { <-release })
	for i := range 2 * workers {
		s.scanned(slow, func(o *imagev1.ImageRepository) { o.Name = fmt.Sprintf("slow-%d", i) })
	}
	last := s.scanned(slow, func(o *imagev1.ImageRepository) {
		o.Name, o.Spec.Timeout = "timeout", &metav1.Duration{Duration: time.Second}
	})
	registry.Push(t, "acme/app", "1.0.0", ocitest.Files{"a": "1"})
	s.ready(s.scanned(registry.Host()+"/acme/app"), "found 1 tag")
	s.await(last, "the status shows the scan", func() bool { return len(last.Status.Conditions) > 0 })
}
