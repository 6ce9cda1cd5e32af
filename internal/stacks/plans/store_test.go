// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

const planID = "plan-main-0123456789"

func stackObject(change ...func(*infrav1.Terraform)) *infrav1.Terraform {
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "vpc", UID: "uid-1"}}
	for _, c := range change {
		c(obj)
	}
	return obj
}

func owners() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "infra.contrib.fluxcd.io/v1alpha2", Kind: "Terraform", Name: "vpc", UID: "uid-1"}}
}

func hashOf(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

func TestAReadablePlanIsMarkedAsToolsExpect(t *testing.T) {
	text := []byte("\nChanges to Outputs:\n  + hello_world = \"Hello, World!\"\n")
	human := objects(stackObject(), infrav1.ReadablePlanHuman, planID, text)
	want := []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "tfplan-default-vpc",
		Labels: map[string]string{"infra.contrib.fluxcd.io/plan-name": "vpc", "infra.contrib.fluxcd.io/plan-workspace": "default"},
		Annotations: map[string]string{"savedPlan": planID, "infra.contrib.fluxcd.io/plan-full-name": "vpc",
			"infra.contrib.fluxcd.io/plan-full-workspace": "default", "infra.contrib.fluxcd.io/plan-hash": hashOf(text)},
		OwnerReferences: owners()}, Data: map[string]string{"tfplan": string(text)}}}
	if diff := cmp.Diff(want, human); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	document := []byte(`{"format_version":"1.2"}`)
	inBlue := stackObject(func(t *infrav1.Terraform) { t.Spec.Workspace = "blue" })
	secret := objects(inBlue, infrav1.ReadablePlanJSON, planID, document)
	want = []client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "tfplan-blue-vpc.json",
		Labels: map[string]string{"infra.contrib.fluxcd.io/plan-name": "vpc.json", "infra.contrib.fluxcd.io/plan-workspace": "blue"},
		Annotations: map[string]string{"savedPlan": planID, "encoding": "gzip", "infra.contrib.fluxcd.io/plan-full-name": "vpc.json",
			"infra.contrib.fluxcd.io/plan-full-workspace": "blue", "infra.contrib.fluxcd.io/plan-hash": hashOf(document)},
		OwnerReferences: owners()}, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"tfplan": pack(document)}}}
	if diff := cmp.Diff(want, secret); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := unpacked(t, secret); string(got) != string(document) {
		t.Errorf("unpacked %s", got)
	}
}

// unpacked joins the pieces of a document.
func unpacked(t *testing.T, list []client.Object) []byte {
	t.Helper()
	var packed bytes.Buffer
	for _, o := range list {
		packed.Write(o.(*corev1.Secret).Data["tfplan"])
	}
	r, err := gzip.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestLongPlansAreSplit(t *testing.T) {
	text := []byte(strings.Repeat("ä", maxChunk)) // two bytes each, so that no piece ends at the limit except by chance
	text = append([]byte("x"), text...)
	list := objects(stackObject(), infrav1.ReadablePlanHuman, planID, text)
	var whole []byte
	for i, o := range list {
		m := o.(*corev1.ConfigMap)
		piece := m.Data["tfplan"]
		if m.Name != fmt.Sprintf("tfplan-default-vpc-%d", i) || m.Annotations["infra.contrib.fluxcd.io/plan-chunk"] != fmt.Sprint(i) ||
			m.Annotations["infra.contrib.fluxcd.io/plan-hash"] != hashOf([]byte(piece)) || len(piece) > maxChunk || !utf8.ValidString(piece) {
			t.Errorf("%s: %v, %d bytes", m.Name, m.Annotations, len(piece))
		}
		whole = append(whole, piece...)
	}
	if len(list) != 3 || !bytes.Equal(whole, text) {
		t.Errorf("%d pieces, %d bytes of %d", len(list), len(whole), len(text))
	}

	noise := make([]byte, 3*maxChunk)
	rand.Read(noise)
	document, _ := json.Marshal(noise) //nolint:errcheck // bytes
	secrets := objects(stackObject(), infrav1.ReadablePlanJSON, planID, document)
	if len(secrets) < 3 || secrets[2].GetName() != "tfplan-default-vpc.json-2" || !bytes.Equal(unpacked(t, secrets), document) {
		t.Errorf("%d pieces", len(secrets))
	}
}

func TestPlansThatAreTooLargeSayWhereTheyAre(t *testing.T) {
	const see = "`yuba plan vpc -n team`"
	text := bytes.Repeat([]byte("a line of a plan\n"), 64<<20/17)
	list := objects(stackObject(), infrav1.ReadablePlanHuman, planID, text)
	if len(list) > maxChunks {
		t.Fatalf("%d pieces", len(list))
	}
	last := list[len(list)-1].(*corev1.ConfigMap).Data["tfplan"]
	if !strings.HasSuffix(last, "a line of a plan\n\n(truncated: the plan is too large to store here; see "+see+")\n") {
		t.Errorf("it ends with %q", last[max(0, len(last)-120):])
	}
	noise := make([]byte, 20<<20)
	rand.Read(noise)
	for sentence, document := range map[string][]byte{"too large": noise, "left out by the runner": nil} {
		secrets := objects(stackObject(), infrav1.ReadablePlanJSON, planID, document)
		if got := string(unpacked(t, secrets)); len(secrets) != 1 || got != `{"message":"The plan is too large to store here; see `+see+`"}` {
			t.Errorf("%s: %d pieces, %s", sentence, len(secrets), got)
		}
	}
	if last := objects(stackObject(), infrav1.ReadablePlanHuman, planID, []byte("bad \xff text"))[0].(*corev1.ConfigMap).Data["tfplan"]; last != "bad \uFFFD text" {
		t.Errorf("invalid text is %q", last)
	}
}

func TestLabelsOfLongNames(t *testing.T) {
	long := strings.Repeat("n", 100)
	sum := sha256.Sum256([]byte(long))
	if got, want := labelValue(long), strings.Repeat("n", 46)+fmt.Sprintf("-%x", sum[:8]); got != want || len(got) != 63 {
		t.Errorf("%s, want %s", got, want)
	}
	if got := labelValue(long[:63]); got != long[:63] {
		t.Errorf("%s", got)
	}
}

func TestThePlansOfATenantsStackHaveItsLabel(t *testing.T) {
	ofAcme := func(t *infrav1.Terraform) { t.Labels = map[string]string{tenantv1.LabelUID: "acme"} }
	for _, form := range []string{infrav1.ReadablePlanHuman, infrav1.ReadablePlanJSON} {
		for _, o := range objects(stackObject(ofAcme), form, planID, []byte("{}")) {
			if o.GetLabels()[tenantv1.LabelUID] != "acme" {
				t.Errorf("%T %s has the labels %v", o, o.GetName(), o.GetLabels())
			}
		}
	}
}
