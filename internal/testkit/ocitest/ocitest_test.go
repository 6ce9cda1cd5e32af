// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ocitest_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/ocitest"

	"github.com/fluxcd/pkg/oci"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/crane"
)

func TestRegistryServesWhatWasPushedAndCounts(t *testing.T) {
	r := ocitest.New(t)
	files := ocitest.Files{"main.tf": "output \"x\" { value = 1 }\n", "modules/a/main.tf": "locals {}\n"}
	digest := r.Push(t, "iac/network", "1.0.0", files)
	if again := r.Push(t, "iac/network", "1.0.0", files); again != digest {
		t.Errorf("equal files make %s and %s", digest, again)
	}
	r.Tag(t, "iac/network", "1.0.0", "stable")
	if diff := cmp.Diff(ocitest.Counts{}, r.Counts("iac/network")); diff != "" {
		t.Errorf("its own requests are counted (-want +got):\n%s", diff)
	}
	tags, err := crane.ListTags(r.Host()+"/iac/network", crane.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1.0.0", "stable"}, tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	dir := t.TempDir()
	if _, err := oci.NewClient([]crane.Option{crane.Insecure}).Pull(t.Context(), r.Host()+"/iac/network:stable", dir); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, "modules", "a", "main.tf"))
	if err != nil || string(content) != "locals {}\n" {
		t.Errorf("the file is %q, %v", content, err)
	}
	counts := r.Counts("iac/network")
	if counts.Lists != 1 || counts.Manifests == 0 || counts.Blobs == 0 {
		t.Errorf("counts are %+v", counts)
	}
}

func TestRegistryAdmitsOnlyWhoKnowsTheSecret(t *testing.T) {
	for name, options := range map[string][]ocitest.Option{"http": nil, "https": {ocitest.TLS()}} {
		t.Run(name, func(t *testing.T) {
			r := ocitest.New(t, append(options, ocitest.BasicAuth("reader", "s3cret"))...)
			r.Push(t, "private", "1", ocitest.Files{"a": "b"})
			if _, err := crane.Digest(r.Host()+"/private:1", crane.Insecure); err == nil {
				t.Error("a stranger reads")
			}
			if _, err := crane.Digest(r.Host()+"/private:1", r.Options()...); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRegistryFails(t *testing.T) {
	r := ocitest.New(t)
	r.Push(t, "x", "1", ocitest.Files{"a": "b"})
	for name, fault := range map[string]faulttest.Fault{"unreachable": faulttest.Unreachable, "broken": faulttest.Answer(http.StatusForbidden)} {
		r.SetFault(fault)
		if _, err := crane.Digest(r.Host()+"/x:1", crane.Insecure); err == nil {
			t.Errorf("%s: it answers", name)
		}
	}
	r.SetFault(nil)
	if _, err := crane.Digest(r.Host()+"/x:1", crane.Insecure); err != nil {
		t.Error(err)
	}
}
