// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/powerdns"
)

// definition is external-dns' definition of DNSEndpoint, as far as its versions agree. Newer ones also list the types.
const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: dnsendpoints.externaldns.k8s.io
  annotations: {api-approved.kubernetes.io: "https://github.com/kubernetes-sigs/external-dns/pull/2007"}
spec:
  group: externaldns.k8s.io
  names: {kind: DNSEndpoint, listKind: DNSEndpointList, plural: dnsendpoints, singular: dnsendpoint}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              endpoints:
                type: array
                items:
                  type: object
                  properties:
                    dnsName: {type: string}
                    recordTTL: {type: integer, format: int64}
                    recordType: {type: string%s}
                    targets: {type: array, items: {type: string}}
          status:
            type: object
            properties: {observedGeneration: {type: integer, format: int64}}
`

// define makes the API have the definition.
func (w *world) define(types string) {
	w.Helper()
	var content map[string]any
	if err := yaml.Unmarshal(fmt.Appendf(nil, definition, types), &content); err != nil {
		w.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: content}
	if err := w.Patch(w.Context(), o, client.Apply, client.FieldOwner("test"), client.ForceOwnership); err != nil { //nolint:staticcheck // of unstructured objects
		w.Fatal(err)
	}
	w.eventually("the kind is served", time.Minute, func() string {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error()
		}
		conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
		if err != nil || !strings.Contains(fmt.Sprint(conditions), "type:Established") {
			return fmt.Sprint(conditions)
		}
		return ""
	})
}

// externalDNS does once what external-dns does with a DNSEndpoint and its PowerDNS provider: write the record as it is, and
// say so in the status.
func (w *world) externalDNS(name string) {
	w.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("externaldns.k8s.io/v1alpha1")
	o.SetKind("DNSEndpoint")
	w.eventually("the DNSEndpoint is there", time.Minute, func() string {
		if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o); err != nil {
			return err.Error()
		}
		return ""
	})
	endpoints, _, err := unstructured.NestedSlice(o.Object, "spec", "endpoints")
	if err != nil || len(endpoints) != 1 {
		w.Fatal(endpoints, err)
	}
	endpoint := endpoints[0].(map[string]any) //nolint:forcetypeassert // the definition says so
	set := powerdns.RRset{Name: endpoint["dnsName"].(string) + ".", Type: endpoint["recordType"].(string), TTL: int(endpoint["recordTTL"].(int64))}
	for _, target := range endpoint["targets"].([]any) {
		set.Records = append(set.Records, powerdns.Record{Content: target.(string)})
	}
	if err := w.api().Change(w.Context(), "example.org", []powerdns.RRset{set}); err != nil {
		w.Fatal(err)
	}
	if err := unstructured.SetNestedField(o.Object, o.GetGeneration(), "status", "observedGeneration"); err != nil {
		w.Fatal(err)
	}
	if err := w.Status().Update(w.Context(), o); err != nil {
		w.Fatal(err)
	}
}

// mayPublish lets the service account default of the namespace write DNSEndpoints.
func (w *world) mayPublish() {
	w.Helper()
	w.create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "publish-dns"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"externaldns.k8s.io"}, Resources: []string{"dnsendpoints"}, Verbs: []string{"create", "update"}}}})
	w.create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "publish-dns"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "publish-dns"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "default", Namespace: w.namespace}}})
}

func TestARecordByExternalDNS(t *testing.T) {
	w := newWorld(t)
	w.define("")
	f := w.record("www", "www.example.org", func(s *yubav1.FailoverRecordSpec) {
		s.Publish = yubav1.FailoverPublish{DNSEndpoint: &yubav1.DNSEndpointPublish{Labels: map[string]string{"dns": "public"}}}
	})
	// With Yuba's rights alone, nothing is published.
	w.await(f, yubav1.ReasonRecordForbidden, "may not create the DNSEndpoint www")
	w.mayPublish()
	w.change(f, nothing)
	w.await(f, yubav1.ReasonRecordPending, "external-dns has not observed it yet")
	w.externalDNS("www")
	w.change(f, nothing)
	w.await(f, yubav1.ReasonRecordPublished, "")
	w.answers("www.example.org", "127.0.0.11,127.0.0.12", time.Minute)
	w.change(f, func(s *yubav1.FailoverRecordSpec) { s.Publish.DNSEndpoint.Nameserver = w.pdns.Nameserver })
	w.await(f, yubav1.ReasonRecordPublished, "www.example.org answers 127.0.0.11,127.0.0.12")

	// Another namespace cannot publish the host.
	second := beside(t, w)
	second.mayPublish()
	same := second.record("www", "www.example.org", func(s *yubav1.FailoverRecordSpec) {
		s.Publish = yubav1.FailoverPublish{DNSEndpoint: &yubav1.DNSEndpointPublish{}}
	})
	second.await(same, yubav1.ReasonRecordOwned, "Another FailoverRecord publishes www.example.org")

	// A definition that lists the types, and not LUA.
	w.define(", enum: [A, AAAA, CNAME, TXT]")
	other := w.record("other", "other.example.org", func(s *yubav1.FailoverRecordSpec) {
		s.Publish = yubav1.FailoverPublish{DNSEndpoint: &yubav1.DNSEndpointPublish{}}
	})
	w.await(other, yubav1.ReasonRecordInvalid, "do not allow the record type LUA")
	w.define("")

	// The API refuses both ways at once, and none.
	before := f.DeepCopy()
	f.Annotations[infrav1.AnnotationReconcile] = "both"
	f.Spec.Publish.PowerDNS = yubav1.PowerDNSServer{URL: w.pdns.URL}
	f.Spec.Publish.PowerDNS.SecretRef.Name = "pdns"
	if err := w.Patch(t.Context(), f, client.MergeFrom(before)); err == nil || !strings.Contains(err.Error(), "either powerDNS or dnsEndpoint") {
		t.Error(err)
	}
}
