// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// A composition with a stack, a release that uses its output, and a ConfigMap that uses the release.
const releaseDefinition = `
metadata: {name: KIND}
spec:
  application: {kind: KIND, plural: KINDs, singular: KIND, openAPISchema: '{"type":"object","properties":{"page":{"type":"string","default":"hello"}}}'}
  backend:
    type: Composition
    composition:
      prefix: KIND-
      resources:
        - id: note
          template:
            apiVersion: v1
            kind: ConfigMap
            data:
              release: "${resources.app.status.history[0].name}"
              version: "${resources.app.status.history[0].chartVersion}"
              page: "${spec.page}"
        - id: app
          template:
            apiVersion: helm.toolkit.fluxcd.io/v2
            kind: HelmRelease
            spec:
              interval: 10m
              serviceAccountName: deployer
              chartRef: {kind: ExternalArtifact, name: web}
              values: {net: "${resources.net.outputs.id}", page: "${spec.page}"}
        - id: net
          template:
            apiVersion: infra.contrib.fluxcd.io/v1alpha2
            kind: Terraform
            spec:
              approvePlan: auto
              inline: {main.tf: "resource \"terraform_data\" \"it\" { input = \"net-1\" }\noutput \"id\" { value = terraform_data.it.output }\n"}
      outputs: {release: "${resources.app.status.history[0].name}"}
`

func TestAReleaseInAComposition(t *testing.T) {
	t.Parallel()
	tofutest.BuildHelm(t, programs)
	y, ns := common(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml":          "apiVersion: v2\nname: web\nversion: 1.2.3\n",
		"values.yaml":         "net: none\npage: none\n",
		"templates/page.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}-page\"}\ndata: {net: {{ .Values.net | quote }}, page: {{ .Values.page | quote }}}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	y.do(t, "push", dir, "web", "-n", ns)
	y.do(t, "kubectl", "create", "serviceaccount", "deployer", "-n", ns)
	y.do(t, "kubectl", "create", "rolebinding", "deployer", "-n", ns, "--clusterrole=admin", "--serviceaccount="+ns+":deployer")
	y.offer(t, "Site", releaseDefinition)
	o := y.use(t, ns, "Site", "shop", map[string]any{}, nil)
	s := y.reaches(t, ns, "Site", "shop", appv1.PhaseReady, "")
	if string(s.Outputs["release"].Raw) != `"site-shop-app"` || len(s.Resources) != 3 {
		t.Errorf("the status is %+v", s)
	}
	page, note := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	names := map[*corev1.ConfigMap]string{page: "site-shop-app-page", note: "site-shop-note"}
	read := func() {
		t.Helper()
		for into, name := range names {
			if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, into); err != nil {
				t.Fatal(err)
			}
		}
	}
	read()
	if page.Data["net"] != "net-1" || page.Data["page"] != "hello" {
		t.Errorf("the chart made %v", page.Data)
	}
	if note.Data["release"] != "site-shop-app" || note.Data["version"] != "1.2.3" {
		t.Errorf("the note says %v", note.Data)
	}

	// A change reaches the release, and then what uses it.
	if err := y.client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"page":"welcome"}}`))); err != nil {
		t.Fatal(err)
	}
	y.eventually(t, "both ConfigMaps have the page", func() string {
		read()
		if page.Data["page"] != "welcome" || note.Data["page"] != "welcome" {
			return page.Data["page"] + " and " + note.Data["page"]
		}
		return ""
	})
	why, _ := y.do(t, "app", "why", "site", "shop", "-n", ns)
	if !strings.Contains(why, "app: HelmRelease site-shop-app is ") {
		t.Errorf("yuba app why says:\n%s", why)
	}

	// The deletion uninstalls the release.
	news, said, _ := y.run(t, "app", "delete", "site", "shop", "-n", ns, "--yes")
	if !strings.Contains(news+said, "is deleted") {
		t.Errorf("yuba app delete says:\n%s%s", news, said)
	}
	for _, gone := range []client.Object{page, note, &helmv2.HelmRelease{}} {
		name := "site-shop-app"
		if m, is := gone.(*corev1.ConfigMap); is {
			name = names[m]
		}
		if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, gone); !apierrors.IsNotFound(err) {
			t.Errorf("%T %s is still there: %v", gone, name, err)
		}
	}
}
