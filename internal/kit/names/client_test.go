// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var errAsked = errors.New("the API was asked")

type asked struct{}

func (asked) RoundTrip(*http.Request) (*http.Response, error) { return nil, errAsked }

func newClient(t *testing.T) client.Client {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	c, err := New(&rest.Config{Host: "http://127.0.0.1", Transport: asked{}}, client.Options{Scheme: clientgoscheme.Scheme, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNothingIsFoundUnderANameThatCannotBe(t *testing.T) {
	c := newClient(t)
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	for _, key := range []client.ObjectKey{
		{Namespace: "a", Name: ""}, {Namespace: "a", Name: "b/c"}, {Namespace: "a", Name: ".."}, {Namespace: "a", Name: "."},
		{Namespace: "a", Name: "50%"}, {Namespace: "a/b", Name: "c"}, {Namespace: "..", Name: "c"}, {Namespace: "a", Name: strings.Repeat("x", 254)},
	} {
		for _, obj := range []client.Object{&corev1.Secret{}, metadata} {
			err := c.Get(t.Context(), key, obj)
			if !apierrors.IsNotFound(err) || !strings.HasPrefix(err.Error(), "secrets ") {
				t.Errorf("%+v as %T: %v", key, obj, err)
			}
		}
	}
}

func TestTheAPIIsAskedForEveryOtherName(t *testing.T) {
	c := newClient(t)
	for _, key := range []client.ObjectKey{{Namespace: "a", Name: "b"}, {Namespace: "a", Name: "B_c"}, {Namespace: "a", Name: "ä b?"}} {
		if err := c.Get(t.Context(), key, &corev1.Secret{}); !errors.Is(err, errAsked) {
			t.Errorf("%+v: %v", key, err)
		}
	}
}
