// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAProxyHasPlacesOfItsOwn(t *testing.T) {
	in := func(namespace string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: "x"} }
	proxy := &meta.LocalObjectReference{Name: "proxy"}
	git := func(namespace string, proxy *meta.LocalObjectReference) Object {
		return &sourcev1.GitRepository{ObjectMeta: in(namespace), Spec: sourcev1.GitRepositorySpec{URL: "https://code.test/a", ProxySecretRef: proxy}}
	}
	oci := &sourcev1.OCIRepository{ObjectMeta: in("a"), Spec: sourcev1.OCIRepositorySpec{URL: "oci://code.test/a", ProxySecretRef: proxy}}
	bucket := &sourcev1.Bucket{ObjectMeta: in("a"), Spec: sourcev1.BucketSpec{Endpoint: "code.test", BucketName: "a", ProxySecretRef: proxy}}
	got := map[string]string{}
	for name, c := range map[string]struct {
		kind *kind
		o    Object
	}{
		"git":                     {gitRepositories(nil), git("a", nil)},
		"git by a proxy":          {gitRepositories(nil), git("a", proxy)},
		"git by another's proxy":  {gitRepositories(nil), git("b", proxy)},
		"a registry by a proxy":   {ociRepositories(nil), oci},
		"object store by a proxy": {buckets(nil), bucket},
	} {
		got[name] = c.kind.view(c.o).place(c.o.GetNamespace())
	}
	want := map[string]string{"git": "code.test", "git by a proxy": "code.test by a/proxy", "git by another's proxy": "code.test by b/proxy",
		"a registry by a proxy": "code.test by a/proxy", "object store by a proxy": "code.test by a/proxy"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
