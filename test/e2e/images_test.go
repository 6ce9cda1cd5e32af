// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	automationv1 "github.com/fluxcd/image-automation-controller/api/v1"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
)

// A new tag in a registry becomes a commit in the stack's repository, and the stack runs with it.
func TestANewImageReachesAStackThroughGit(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	registry, server := ocitest.New(t), gittest.New(t, gittest.Writable(), gittest.BasicAuth("bot", "s3cret"))
	image := registry.Host() + "/acme/app"
	registry.Push(t, "acme/app", "1.0.0", ocitest.Files{"a": "1"})
	repository := server.Repository(t, "infra")
	repository.Commit(t, "first", gittest.Files{"main.tf": fmt.Sprintf("locals {\n  image = %q # {\"$imagepolicy\": \"%s:app\"}\n}\noutput \"image\" {\n  value = local.image\n}\n", image+":1.0.0", ns)})
	app, hour := metav1.ObjectMeta{Namespace: ns, Name: "app"}, metav1.Duration{Duration: time.Hour}
	stack := &infrav1.Terraform{ObjectMeta: app, Spec: infrav1.TerraformSpec{Interval: hour, ApprovePlan: infrav1.ApprovePlanAuto,
		SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "app"}, WriteOutputsToSecret: &infrav1.WriteOutputsToSecretSpec{Name: "app"}}}
	y.create(t, secretOf(ns, "git", map[string]string{"username": "bot", "password": "s3cret"}),
		&sourcev1.GitRepository{ObjectMeta: app, Spec: sourcev1.GitRepositorySpec{URL: repository.URL(), Interval: hour, SecretRef: &meta.LocalObjectReference{Name: "git"},
			Reference: &sourcev1.GitRepositoryRef{Branch: "main"}}}, stack)
	y.await(t, stack, "it is applied", ready)
	y.create(t, &imagev1.ImageRepository{ObjectMeta: app, Spec: imagev1.ImageRepositorySpec{Image: image, Interval: metav1.Duration{Duration: time.Second}}},
		&imagev1.ImagePolicy{ObjectMeta: app, Spec: imagev1.ImagePolicySpec{ImageRepositoryRef: meta.NamespacedObjectReference{Name: "app"},
			Policy: imagev1.ImagePolicyChoice{SemVer: &imagev1.SemVerPolicy{Range: "1.x"}}}},
		&automationv1.ImageUpdateAutomation{ObjectMeta: app, Spec: automationv1.ImageUpdateAutomationSpec{Interval: hour,
			SourceRef: automationv1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "app"},
			GitSpec:   &automationv1.GitSpec{Commit: automationv1.CommitSpec{Author: automationv1.CommitUser{Name: "Yuba", Email: "yuba@example.com"}}}}})
	registry.Push(t, "acme/app", "1.1.0", ocitest.Files{"a": "2"})
	y.await(t, stack, "it is applied with the new image", func(obj *infrav1.Terraform) bool {
		return ready(obj) && string(y.secret(t, ns, "app")["image"]) == image+":1.1.0"
	})
	if out, news, code := y.run(t, "get", "all", "-n", ns); code != 0 || !strings.Contains(out, "imagepolicy/app") || !strings.Contains(out, "1.1.0") {
		t.Errorf("%d: %s%s", code, out, news)
	}
}
