// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"os"
	"path/filepath"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/config/crd"
	"github.com/yuba-dev/yuba/internal/home/install"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// printed is an OCIRepository as talks and repositories of older versions of Flux have it.
const printed = `
apiVersion: source.toolkit.fluxcd.io/v1beta2
kind: OCIRepository
metadata:
  name: foo-iac
spec:
  interval: 5m
  provider: aws
  ref:
    semver: "~ 0.1.0-0"
  url: oci://xxx.dkr.ecr.eu-central-1.amazonaws.com/iac/foo
`

func TestAnOCIRepositoryOfTheOldVersionIsOneOfTheNew(t *testing.T) {
	namespace, c := apitest.Namespace(t), apitest.Client(t)
	if err := install.Kinds(t.Context(), apitest.API(t).RESTConfig(), crd.Flux()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "slide.yaml")
	if err := os.WriteFile(file, []byte(printed), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, namespace, "apply", "-f", file)
	var got sourcev1.OCIRepository
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "foo-iac"}, &got); err != nil {
		t.Fatal(err)
	}
	if got.Spec.Provider != "aws" || got.Spec.Reference.SemVer != "~ 0.1.0-0" || got.Spec.URL != "oci://xxx.dkr.ecr.eu-central-1.amazonaws.com/iac/foo" {
		t.Errorf("it is %+v", got.Spec)
	}
	// A client of v1beta2 reads what a controller writes in v1, and a second "kubectl apply" changes
	// nothing.
	got.Status.URL = "http://yuba.example.com/latest"
	if err := c.Status().Update(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	if out := kubectl(t, namespace, "get", "ocirepositories.v1beta2.source.toolkit.fluxcd.io", "foo-iac", "-o", "jsonpath={.status.url}"); out != got.Status.URL {
		t.Errorf("its status in v1beta2 has the URL %q", out)
	}
	kubectl(t, namespace, "apply", "-f", file)
	var again sourcev1.OCIRepository
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(&got), &again); err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(got.Spec, again.Spec) || got.Generation != again.Generation {
		t.Errorf("a second apply changed it:\n%s", cmp.Diff(got.Spec, again.Spec))
	}
}
