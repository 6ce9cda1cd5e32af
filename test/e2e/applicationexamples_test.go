// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
	"github.com/yuba-dev/yuba/test/cloud"
)

// applicationExample is an instance of examples/applications, and what is expected of it.
type applicationExample struct {
	kind, name string
	// outputs are those in the status, hidden those that only the Secret has.
	outputs, hidden []string
	// made counts the objects of the cloud, by type.
	made map[string]int
}

var applicationExamples = []applicationExample{
	{"VPC", "main", []string{"subnet_ids", "vpc_id"}, nil, map[string]int{"aws_vpc": 1, "aws_subnet": 2}},
	{"DNSZone", "team", []string{"name_servers", "zone_id"}, nil, map[string]int{"aws_route53_zone": 1, "aws_route53_record": 1}},
	{"Bucket", "photos", []string{"arn", "bucket"}, nil, map[string]int{"aws_s3_bucket": 1, "aws_s3_bucket_versioning": 1}},
	{"Postgres", "shop", []string{"schema", "username"}, []string{"password"}, map[string]int{"postgresql_role": 1, "postgresql_schema": 1, "postgresql_grant": 1}},
}

// TestExamplesOfApplications applies examples/applications to a Yuba of its own, with stand-ins for the
// providers, and deletes the instances again.
func TestExamplesOfApplications(t *testing.T) {
	t.Parallel()
	buildStandins(t)
	tofutest.BuildHelm(t, programs)
	y := alone(t)
	ns := y.namespace(t)
	c := cloud.Start()
	t.Cleanup(c.Close)
	if err := y.client.Create(t.Context(), namespaceObject(ns)); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	at, err := url.Parse(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	y.create(t, secretOf(ns, "aws-credentials", map[string]string{"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": c.Token(), "AWS_ENDPOINT_URL": c.URL()}))
	y.create(t, secretOf(ns, "postgres-admin", map[string]string{"admin_host": at.Hostname(), "admin_port": at.Port(), "admin_database": "shared", "admin_user": "admin", "admin_password": c.Token()}))
	dir := filepath.Join(tofutest.RepositoryRoot(t), "examples", "applications")
	for _, file := range []string{"vpc", "dnszone", "bucket", "postgres", "website", "webapp"} {
		y.do(t, "kubectl", "apply", "-f", filepath.Join(dir, file+".yaml"))
	}
	y.do(t, "kubectl", "wait", "--for=condition=Ready", "applicationdefinitions", "--all", "--timeout=60s")
	// As in the README.
	y.do(t, "push", filepath.Join(dir, "website"), "website", "-n", ns)
	y.do(t, "kubectl", "create", "serviceaccount", "website", "-n", ns)
	y.do(t, "kubectl", "create", "rolebinding", "website", "-n", ns, "--clusterrole=admin", "--serviceaccount="+ns+":website")
	y.do(t, "kubectl", "apply", "-n", ns, "-f", filepath.Join(dir, "instances.yaml"))
	for _, e := range applicationExamples {
		y.hasInstance(t, ns, c, e)
	}
	y.hasWebsite(t, ns)
	y.do(t, "kubectl", "delete", "website", "home", "-n", ns, "--timeout=120s")
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: websitePage}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("the page of the deleted website: %v", err)
	}
	for _, e := range applicationExamples {
		y.do(t, "kubectl", "delete", strings.ToLower(e.kind)+".apps.cozystack.io", e.name, "-n", ns, "--timeout=120s")
	}
	if left := c.Names(""); len(left) > 0 {
		t.Errorf("the cloud still has %v", left)
	}
}

// websitePage is the ConfigMap of the website with its page.
const websitePage = "website-home-page"

// hasWebsite waits for the release of the website, and for an upgrade of it.
func (y *yuba) hasWebsite(t *testing.T, ns string) {
	t.Helper()
	for _, page := range []string{"It works.", "<h1>Hello</h1>"} {
		if page != "It works." {
			y.do(t, "kubectl", "patch", "website", "home", "-n", ns, "--type=merge", "-p", `{"spec":{"page":"`+page+`"}}`)
		}
		y.eventually(t, "the website says "+page, func() string {
			made := &corev1.ConfigMap{}
			if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: websitePage}, made); err != nil || made.Data["index.html"] != page {
				return "the page is " + made.Data["index.html"] + " " + errorText(err)
			}
			_, s, err := y.instanceOf(t, ns, "Website", "home")
			if !apimeta.IsStatusConditionTrue(s.Conditions, appv1.ConditionReady) {
				text, _ := json.Marshal(s) //nolint:errcheck // plain data
				return string(text) + " " + errorText(err)
			}
			return ""
		})
	}
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return "not yet"
}

// instanceOf reads an instance and its status.
func (y *yuba) instanceOf(t *testing.T, ns, kind, name string) (*unstructured.Unstructured, appv1.InstanceStatus, error) {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(appv1.InstanceVersion.WithKind(kind))
	var s appv1.InstanceStatus
	if err := y.client.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: name}, o); err != nil {
		return o, s, err
	}
	status, _, err := unstructured.NestedMap(o.Object, "status")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(status, &s)
	}
	return o, s, err
}

// hasInstance waits for an instance, and checks its outputs and what it made.
func (y *yuba) hasInstance(t *testing.T, ns string, c *cloud.Cloud, e applicationExample) {
	t.Helper()
	var s appv1.InstanceStatus
	y.eventually(t, e.kind+" is ready", func() string {
		var err error
		if _, s, err = y.instanceOf(t, ns, e.kind, e.name); err != nil {
			return err.Error()
		}
		if !apimeta.IsStatusConditionTrue(s.Conditions, appv1.ConditionReady) || len(s.Outputs) < len(e.outputs) {
			text, err := json.Marshal(s)
			return string(text) + " " + errorText(err)
		}
		return ""
	})
	if diff := cmp.Diff(e.outputs, slices.Sorted(maps.Keys(s.Outputs))); diff != "" {
		t.Errorf("%s: outputs (-want +got):\n%s", e.kind, diff)
	}
	if s.OutputsSecretRef == nil {
		t.Fatalf("%s names no Secret", e.kind)
	}
	secret := &corev1.Secret{}
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: s.OutputsSecretRef.Name}, secret); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(e.outputs, e.hidden...) {
		if len(secret.Data[name]) == 0 {
			t.Errorf("%s: the Secret lacks %s", e.kind, name)
		}
	}
	for _, name := range e.hidden {
		if text, err := json.Marshal(s); err != nil || strings.Contains(string(text), string(secret.Data[name])) {
			t.Errorf("%s shows %s", e.kind, name)
		}
	}
	for kind, n := range e.made {
		if got := len(c.Names(kind + ":")); got != n {
			t.Errorf("%s: the cloud has %d of %s, want %d: %v", e.kind, got, kind, n, c.Names(""))
		}
	}
}
