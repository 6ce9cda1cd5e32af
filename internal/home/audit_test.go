// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/yuba-dev/yuba/config/crd"
)

// events reads an audit log.
func events(t *testing.T, path string) []auditv1.Event {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []auditv1.Event
	for line := range bytes.Lines(data) {
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, event)
	}
	return all
}

func TestAuditLog(t *testing.T) {
	options := testOptions(t.TempDir())
	options.CRDs, options.AuditLog = crd.Embedded, filepath.Join(t.TempDir(), "logs", "audit.log")
	p := startIn(t, options)
	client := fromKubeconfig(t, p.Kubeconfig())
	secretWith(t, client, "kept", "the-content-that-nobody-sees")
	if got := contentOf(t, client, "kept"); got != "the-content-that-nobody-sees" {
		t.Fatal(got)
	}
	if _, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := client.RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "given"},
		Subjects: []rbacv1.Subject{userNamed("ed")}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	approve(t, p)

	var got []string
	for _, event := range events(t, options.AuditLog) {
		if event.User.Username != "yuba-admin" {
			t.Errorf("an event of %s: %s %s", event.User.Username, event.Verb, event.RequestURI)
		}
		line := event.Verb + " " + event.ObjectRef.Resource + "/" + event.ObjectRef.Name
		if event.RequestObject != nil {
			line += " with its body"
		}
		if strings.Contains(line, "patch terraforms") && !bytes.Contains(event.RequestObject.Raw, []byte(`"approvePlan":"plan-main-1"`)) {
			t.Errorf("the approval's event has the body %s", event.RequestObject.Raw)
		}
		got = append(got, line)
	}
	want := []string{"create secrets/kept", "get secrets/kept", "create rolebindings/given with its body", "create terraforms/approved with its body",
		"patch terraforms/approved with its body"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	data, err := os.ReadFile(options.AuditLog)
	if err != nil || bytes.Contains(data, []byte("the-content-that-nobody-sees")) || bytes.Contains(data, []byte("dGhlLWNvbnRlbnQ")) {
		t.Errorf("the log shows what is in a Secret, %v", err)
	}
	if info, err := os.Stat(options.AuditLog); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the log: %v, %v", info.Mode(), err)
	}
}

// approve makes a stack and approves a plan of it, as the administrator.
func approve(t *testing.T, p *ControlPlane) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	stacks := client.Resource(schema.GroupVersionResource{Group: "infra.contrib.fluxcd.io", Version: "v1alpha2", Resource: "terraforms"}).Namespace("default")
	stack := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "infra.contrib.fluxcd.io/v1alpha2", "kind": "Terraform",
		"metadata": map[string]any{"name": "approved"}, "spec": map[string]any{"interval": "1h", "inline": map[string]any{"main.tf": "# nothing"}}}}
	if _, err := stacks.Create(t.Context(), stack, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := stacks.Patch(t.Context(), "approved", types.MergePatchType, []byte(`{"spec":{"approvePlan":"plan-main-1"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestAnAuditPolicyOfOnesOwn(t *testing.T) {
	options := testOptions(t.TempDir())
	options.AuditLog, options.AuditPolicy = filepath.Join(t.TempDir(), "audit.log"), filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(options.AuditPolicy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Everything}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Start(t.Context(), options)
	if err == nil {
		stop(t, p)
	}
	if err == nil || !strings.Contains(err.Error(), options.AuditPolicy) {
		t.Errorf("error %v, want one that names the policy", err)
	}
}
