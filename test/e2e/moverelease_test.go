// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// A HelmRelease moves to another home, which installs its chart there, and back. At no time both homes
// work on it, and deleting the copy keeps what the chart made.
func TestMoveOfAHelmRelease(t *testing.T) {
	t.Parallel()
	tofutest.BuildHelm(t, programs)
	m := newMovers(t)
	const ns = "shops"
	m.a.create(t, namespaceObject(ns))
	m.a.push(t, ns, "web", map[string]string{
		"Chart.yaml":          "apiVersion: v2\nname: web\nversion: 1.2.3\n",
		"values.yaml":         "page: none\n",
		"templates/page.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}-page\"}\ndata: {page: {{ .Values.page | quote }}}\n",
	})
	m.a.do(t, "kubectl", "create", "serviceaccount", "deployer", "-n", ns)
	m.a.do(t, "kubectl", "create", "rolebinding", "deployer", "-n", ns, "--clusterrole=admin", "--serviceaccount="+ns+":deployer")
	file := filepath.Join(t.TempDir(), "release.yaml")
	if err := os.WriteFile(file, []byte(movedRelease), 0o600); err != nil {
		t.Fatal(err)
	}
	m.a.do(t, "kubectl", "apply", "-n", ns, "-f", file)
	m.a.serves(t, ns, "hello")
	was := m.a.release(t, ns)

	move(t, m.a, m.b, "-n", ns)
	m.b.serves(t, ns, "hello")
	left, now := m.a.release(t, ns), m.b.release(t, ns)
	if _, marked := moving.MovedTo(left); !marked || !left.Spec.Suspend || now.Spec.Suspend || now.UID == was.UID {
		t.Errorf("the source has %+v, and the target %+v", left.Spec, now.Spec)
	}
	// A change there reaches the chart's objects there, and no others. A resumed copy stays held.
	patch(t, m.a, left, `{"spec":{"suspend":false,"values":{"page":"wrong"}}}`)
	patch(t, m.a, left, `{"spec":{"suspend":true,"values":{"page":"hello"}}}`)
	patch(t, m.b, now, `{"spec":{"values":{"page":"welcome"}}}`)
	m.b.serves(t, ns, "welcome")
	if got := m.a.page(t, ns); got != "hello" {
		t.Errorf("the page at the source is %q", got)
	}

	move(t, m.b, m.a, "-n", ns)
	m.a.serves(t, ns, "welcome")
	if back := m.a.release(t, ns); back.Spec.Suspend || back.UID != was.UID {
		t.Errorf("back is %+v", back)
	}

	// The deletion of the copy uninstalls nothing, even if somebody has resumed it.
	left = m.b.release(t, ns)
	patch(t, m.b, left, `{"spec":{"suspend":false}}`)
	m.b.delete(t, left)
	m.b.eventually(t, "the copy is gone", func() string {
		if err := m.b.client.Get(t.Context(), client.ObjectKeyFromObject(left), &helmv2.HelmRelease{}); !apierrors.IsNotFound(err) {
			return "it is still there"
		}
		return ""
	})
	if got := m.b.page(t, ns); got != "welcome" {
		t.Errorf("the page of the deleted copy is %q", got)
	}
	m.a.delete(t, m.a.release(t, ns))
	m.a.eventually(t, "the release is uninstalled", func() string {
		if got := m.a.page(t, ns); got != "" {
			return "its page is " + got
		}
		return ""
	})
}

const movedRelease = `
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop}
spec:
  interval: 10m
  serviceAccountName: deployer
  chartRef: {kind: ExternalArtifact, name: web}
  values: {page: hello}
`

func (y *yuba) release(t *testing.T, ns string) *helmv2.HelmRelease {
	t.Helper()
	r := &helmv2.HelmRelease{}
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "shop"}, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// page is the content of the chart's ConfigMap; empty for none.
func (y *yuba) page(t *testing.T, ns string) string {
	t.Helper()
	var page corev1.ConfigMap
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "shop-page"}, &page); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return page.Data["page"]
}

// serves waits until the release is ready and the chart's ConfigMap has a page.
func (y *yuba) serves(t *testing.T, ns, page string) {
	t.Helper()
	y.eventually(t, "the release serves "+page, func() string {
		r := y.release(t, ns)
		ready := apimeta.FindStatusCondition(r.Status.Conditions, "Ready")
		if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != r.Generation {
			return "not ready: " + y.about(ready)
		}
		if got := y.page(t, ns); got != page {
			return "its page is " + got
		}
		return ""
	})
}

func (y *yuba) about(c *metav1.Condition) string {
	if c == nil {
		return "no condition"
	}
	return string(c.Status) + " " + c.Message
}

func patch(t *testing.T, y *yuba, o client.Object, text string) {
	t.Helper()
	if err := y.client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
		t.Fatal(err)
	}
}
