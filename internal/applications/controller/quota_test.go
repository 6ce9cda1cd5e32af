// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

const quotaYAML = `
metadata: {name: KINDs}
spec:
  application: {kind: KIND, plural: KINDs, singular: KIND, openAPISchema: '{"type":"object","properties":{"cidr":{"type":"string"}},"required":["cidr"]}'}
  backend:
    type: Composition
    composition:
      prefix: KIND-
      resources:
      - id: net
        template:
          apiVersion: infra.contrib.fluxcd.io/v1alpha2
          kind: Terraform
          spec:
            vars: [{name: cidr, value: "${spec.cidr}"}]
            inline: {main.tf: 'variable "cidr" {}'}
      - id: notes
        template:
          apiVersion: v1
          kind: ConfigMap
          metadata: {name: "KIND-${metadata.name}-notes"}
          data: {cidr: "${spec.cidr}"}
`

// TestAQuotaThatRefusesAnObject: the status says what the API refuses, other objects are written, and
// Yuba tries again.
func TestAQuotaThatRefusesAnObject(t *testing.T) {
	w := newWorld(t)
	const stacks = "count/terraforms.infra.contrib.fluxcd.io"
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{stacks: resource.MustParse("0")}}}
	if err := w.Create(context.Background(), quota); err != nil {
		t.Fatal(err)
	}
	w.until("the quota is in force", func() (bool, string) {
		err := w.Get(context.Background(), client.ObjectKeyFromObject(quota), quota)
		_, counted := quota.Status.Used[stacks]
		return err == nil && counted, fmt.Sprint(err, quota.Status)
	})
	w.awaitDefinition(w.define("Quern", bucketYAML), appv1.ReasonServed)
	w.awaitDefinition(w.define("Quay", quotaYAML), appv1.ReasonServed)
	w.make("Quern", "shop", map[string]any{"bucketName": "a"})
	w.make("Quay", "shop", map[string]any{"cidr": "10.0.0.0/16"})
	for _, kind := range []string{"Quern", "Quay"} {
		if _, message := w.await(kind, "shop", appv1.PhaseFailed); !strings.Contains(message, "exceeded quota: none") {
			t.Errorf("the message of %s is %q", kind, message)
		}
	}
	w.configMap("quay-shop-notes", func(c *corev1.ConfigMap) bool { return c.Data["cidr"] == "10.0.0.0/16" })
	if err := w.Delete(context.Background(), quota); err != nil {
		t.Fatal(err)
	}
	w.stack("quern-shop")
	w.stack("quay-shop-net")
}
