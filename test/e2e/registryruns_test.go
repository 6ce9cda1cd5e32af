// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
)

// ownRegistry is a Yuba whose registry has an address of its own.
type ownRegistry struct {
	*yuba
	host string
}

func withRegistry(t *testing.T) *ownRegistry {
	t.Helper()
	address, err := proctest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return &ownRegistry{alone(t, "--registry-address", address), address}
}

// push publishes a version of a module that tells its version.
func (r *ownRegistry) push(t *testing.T, version string) {
	t.Helper()
	r.pushText(t, version, fmt.Sprintf("resource \"terraform_data\" \"vpc\" {\n  input = %q\n}\n\noutput \"edition\" {\n  value = %q\n}\n", version, version))
}

func (r *ownRegistry) pushText(t *testing.T, version, text string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.do(t, "registry", "push", dir, "acme/vpc/aws@"+version)
}

// calling is a stack that calls the module and has no configuration for that.
func (r *ownRegistry) calling(ns, name, version string, change ...func(*infrav1.Terraform)) *infrav1.Terraform {
	hcl := fmt.Sprintf("module \"vpc\" {\n  source  = \"%s/acme/vpc/aws\"\n  version = %q\n}\n\noutput \"edition\" {\n  value = module.vpc.edition\n}\n", r.host, version)
	return inline(ns, name, hcl, append([]func(*infrav1.Terraform){auto}, change...)...)
}

// has reports whether the stack's state has the module in a version.
func (r *ownRegistry) has(t *testing.T, obj *infrav1.Terraform, version string) bool {
	t.Helper()
	out, _ := r.do(t, "state", "pull", name(obj))
	return strings.Contains(out, fmt.Sprintf("%q", version))
}

// told is the message of the condition Ready; empty before there is one.
func told(o *infrav1.Terraform) string {
	if c := apimeta.FindStatusCondition(o.Status.Conditions, infrav1.ConditionReady); c != nil {
		return c.Message
	}
	return ""
}

func TestStacksUseTheRegistryWithoutConfiguration(t *testing.T) {
	r := withRegistry(t)
	ns := r.namespace(t)
	r.push(t, "1.0.0")
	obj := r.calling(ns, "vpc", "~> 1.0", func(o *infrav1.Terraform) { o.Spec.DestroyResourcesOnDeletion = true })
	r.create(t, obj)
	r.await(t, obj, "it is ready", ready)
	if !r.has(t, obj, "1.0.0") {
		t.Fatal("not the version that was published")
	}

	r.push(t, "1.0.1")
	r.do(t, "replan", name(obj))
	r.await(t, obj, "the new version is applied", func(o *infrav1.Terraform) bool {
		return ready(o) && r.has(t, o, "1.0.1")
	})

	// A revoked version is not chosen any more, and does not keep a stack from being destroyed.
	r.do(t, "registry", "revoke", "acme/vpc/aws@1.0.1", "--reason", "it leaks")
	pinned := r.calling(ns, "late", "1.0.1")
	r.create(t, pinned)
	r.await(t, pinned, "it fails", func(o *infrav1.Terraform) bool { return strings.Contains(told(o), "version constraint") })
	if err := r.client.Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	r.eventually(t, "the stack with the revoked version is destroyed", func() string {
		if r.there(t, obj) {
			return "it is there"
		}
		return ""
	})
}

// All versions that fit are revoked, and the newest does not fit the program. The stack is destroyed with
// the one that it has, although an upgrade that failed has removed that from its working directory.
func TestADestroyTakesTheRevokedVersionThatTheStackHas(t *testing.T) {
	r := withRegistry(t)
	ns := r.namespace(t)
	r.push(t, "1.0.0")
	obj := r.calling(ns, "vpc", "~> 1.0", func(o *infrav1.Terraform) { o.Spec.DestroyResourcesOnDeletion = true })
	r.create(t, obj)
	r.await(t, obj, "it is ready", ready)
	r.pushText(t, "1.1.0", "variable \"new\" {}\n\noutput \"edition\" {\n  value = \"1.1.0\"\n}\n")
	for _, version := range []string{"1.1.0", "1.0.0"} {
		r.do(t, "registry", "revoke", "acme/vpc/aws@"+version, "--reason", "it leaks")
	}
	r.do(t, "replan", name(obj))
	r.await(t, obj, "the upgrade fails", func(o *infrav1.Terraform) bool { return strings.Contains(told(o), "no versions") })
	if err := r.client.Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	r.eventually(t, "the stack is destroyed", func() string {
		if r.there(t, obj) {
			return "it is there"
		}
		return ""
	})
}

func TestANamespaceWithoutRightsInTheRegistry(t *testing.T) {
	r := withRegistry(t)
	ns := r.namespace(t)
	r.push(t, "1.0.0")
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "yuba:registry-reader"}}
	if err := r.client.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	obj := r.calling(ns, "vpc", "1.0.0")
	r.create(t, obj)
	r.await(t, obj, "the error names who may not read what", func(o *infrav1.Terraform) bool {
		text := told(o)
		return strings.Contains(text, "This server's registry answered 403") && strings.Contains(text, "system:serviceaccount:"+ns+":tf-runner")
	})
}
