// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
	"github.com/yuba-dev/yuba/test/cloud"
)

// providerMirror is the provider mirror of every Yuba of these tests.
func providerMirror() string { return filepath.Join(programs, "providers") }

// testProvider is the provider of test/provider in the mirror. The first test that needs it builds
// it.
var testProvider struct {
	once sync.Once
	err  error
}

func buildProvider(t *testing.T) {
	t.Helper()
	testProvider.once.Do(func() { testProvider.err = tofutest.BuildProvider(providerMirror()) })
	if testProvider.err != nil {
		t.Fatal(testProvider.err)
	}
}

// providerHCL is the beginning of programs that manage objects of a cloud.
const providerHCL = `
terraform {
  required_providers {
    yubatest = { source = "yuba-dev/yubatest" }
  }
}
provider "yubatest" {}
`

// objectHCL is an object of a cloud, named like its resource.
func objectHCL(name, content string, more ...string) string {
	return fmt.Sprintf("resource \"yubatest_object\" %q {\n  name    = %q\n  content = %q\n%s\n}\n", name, name, content, strings.Join(more, "\n"))
}

// cloudy starts a cloud and returns an option for stacks with access to it.
func cloudy(t *testing.T, y *yuba, namespace string) (*cloud.Cloud, func(*infrav1.Terraform)) {
	t.Helper()
	buildProvider(t)
	c := cloud.Start()
	t.Cleanup(func() {
		y.suspendAll(t, namespace)
		c.Close()
	})
	y.create(t, secretOf(namespace, "cloud", map[string]string{"token": c.Token()}))
	return c, func(o *infrav1.Terraform) {
		o.Spec.Env = append(o.Spec.Env, corev1.EnvVar{Name: "YUBATEST_ENDPOINT", Value: c.URL()}, fromSecret("YUBATEST_TOKEN", "cloud", "token"))
	}
}

// suspendAll suspends the stacks of a finished test, whose cloud is gone.
func (y *yuba) suspendAll(t *testing.T, namespace string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var stacks infrav1.TerraformList
	if err := y.client.List(ctx, &stacks, client.InNamespace(namespace)); err != nil {
		t.Error(err)
	}
	for _, s := range stacks.Items {
		suspend := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true}}`))
		if err := y.client.Patch(ctx, &s, suspend); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
}

func fromSecret(name, secret, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key}}}
}

// awaitCount waits until the cloud has served this many requests for an object.
func awaitCount(t *testing.T, c *cloud.Cloud, method, name string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.AwaitCount(ctx, method, name, n); err != nil {
		t.Fatal(err)
	}
}

// awaitReached waits until a gate holds a request.
func awaitReached(t *testing.T, y *yuba, gate *cloud.Gate) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case <-gate.Reached():
	case <-ctx.Done():
		t.Fatalf("nothing reached the gate.\nServer:\n%s", y.logTail())
	}
}

// has checks the content of an object in the cloud; if content is empty, that it does not exist.
func has(t *testing.T, c *cloud.Cloud, name, content string) {
	t.Helper()
	if o, ok := c.Object(name); o.Content != content || ok != (content != "") {
		t.Errorf("the cloud has %q as %s, want %q", o.Content, name, content)
	}
}
