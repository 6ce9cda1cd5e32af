// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"
)

func TestAManifestNeedsNoKind(t *testing.T) {
	for sentence, c := range map[string]struct {
		manifest string
		want     map[string]any
	}{
		"with a kind": {`{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}`,
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "b"}}},
		"without one":          {`{"data":{"a":"b"}}`, map[string]any{"data": map[string]any{"a": "b"}}},
		"integers stay whole":  {`{"spec":{"replicas":3,"share":0.5}}`, map[string]any{"spec": map[string]any{"replicas": int64(3), "share": 0.5}}},
		"a list of a kind":     {`{"apiVersion":"v1","kind":"List","items":[]}`, map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{}}},
		"nothing in it at all": {`{}`, map[string]any{}},
		"none":                 {`null`, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			text := `{"spec":{"registryId":"r","manifests":[{"id":"a","timeoutSeconds":5,"waitForReady":false,"spec":` + c.manifest + `}]}}`
			var got TenantTemplate
			if err := kjson.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			want := TenantTemplate{Spec: TenantTemplateSpec{RegistryID: "r", Resources: Resources{Manifests: []TResource{{
				ID: "a", TimeoutSeconds: 5, WaitForReady: ptr.To(false), Spec: unstructured.Unstructured{Object: c.want},
			}}}}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("template (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAResourceSurvivesEveryWayOfReadingAndWriting(t *testing.T) {
	want := TenantTemplate{Spec: TenantTemplateSpec{RegistryID: "r", Resources: Resources{
		ConfigMaps: []TResource{{ID: "a", DependIds: []string{"b"}, LabelsTemplate: map[string]string{"x": "{{ .uid }}"},
			Spec: unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"n": "1"}}}}},
	}}}
	t.Run("JSON", func(t *testing.T) {
		data, err := json.Marshal(&want)
		if err != nil {
			t.Fatal(err)
		}
		var got TenantTemplate
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("the converter of unstructured objects", func(t *testing.T) {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&want)
		if err != nil {
			t.Fatal(err)
		}
		var got TenantTemplate
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("a copy", func(t *testing.T) {
		got := want.DeepCopy()
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		got.Spec.ConfigMaps[0].Spec.Object["data"] = "changed"
		if _, ok := want.Spec.ConfigMaps[0].Spec.Object["data"].(map[string]any); !ok {
			t.Error("the copy shares its manifest")
		}
	})
}

func TestListsHaveEveryFieldOnce(t *testing.T) {
	one := []TResource{{ID: "x"}}
	data, err := json.Marshal(&Resources{
		ServiceAccounts: one, Deployments: one, StatefulSets: one, DaemonSets: one, Services: one, Ingresses: one, ConfigMaps: one, Secrets: one,
		PersistentVolumeClaims: one, Jobs: one, CronJobs: one, PodDisruptionBudgets: one, NetworkPolicies: one,
		HorizontalPodAutoscalers: one, Namespaces: one, Manifests: one,
	})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	var r Resources
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, list := range r.Lists() {
		if seen[list.Field] {
			t.Errorf("%s is there twice", list.Field)
		}
		seen[list.Field] = true
		if _, ok := fields[list.Field]; !ok {
			t.Errorf("%s is not a field", list.Field)
		}
		if len(list.Items) != 1 {
			t.Errorf("%s has %d resources, want 1", list.Field, len(list.Items))
		}
		if (list.Kind == "") != (list.APIVersion == "") || (list.Kind == "") != (list.Field == "manifests") {
			t.Errorf("%s is for %s %s", list.Field, list.APIVersion, list.Kind)
		}
	}
	if len(seen) != len(fields) {
		t.Errorf("there are %d lists and %d fields", len(seen), len(fields))
	}
}

func TestInterval(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 30 * time.Second, "30s": 30 * time.Second, "5m": 5 * time.Minute, "2h": 2 * time.Hour,
		"0s": time.Second, "99999999999999999999h": longestInterval, "9999999h": longestInterval, "soon": longestInterval,
	} {
		if got := (&DataSource{SyncInterval: text}).Interval(); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

func TestDefaultsOfWhatIsLeftOut(t *testing.T) {
	var (
		protection *Protection
		rollout    *Rollout
		resource   TResource
	)
	if protection.MaxDelete() != 10 || (&Protection{}).MaxDelete() != 10 || (&Protection{MaxDeletePercent: ptr.To[int32](0)}).MaxDelete() != 0 {
		t.Error("the share of tenants that may go is wrong")
	}
	if protection.Grace() != 0 || (&Protection{}).Grace() != 0 {
		t.Error("the time of grace is wrong")
	}
	if rollout.Skew() != 0 || rollout.Deadline() != 10*time.Minute || (&Rollout{ProgressDeadlineSeconds: 60}).Deadline() != time.Minute {
		t.Error("the rollout is wrong")
	}
	if resource.Timeout() != 5*time.Minute || !resource.WaitsForReady() || !resource.SkipsOnFailure() {
		t.Error("the resource is wrong")
	}
}
