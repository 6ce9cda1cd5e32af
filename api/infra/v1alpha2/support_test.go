// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestEveryLimitIsAboutAFieldThatThereIs(t *testing.T) {
	seen := map[string]bool{}
	for _, limit := range limits {
		if seen[limit.Name()] {
			t.Errorf("%s is listed twice", limit.Name())
		}
		seen[limit.Name()] = true
		at := reflect.TypeFor[Terraform]()
		for _, name := range strings.Split(limit.Field, ".") {
			for at.Kind() == reflect.Pointer {
				at = at.Elem()
			}
			field, ok := fieldOf(at, name)
			if !ok {
				t.Fatalf("%s: %s has no field %s", limit.Field, at, name)
			}
			at = field
		}
		above := parent(limit.Field)
		if limit.Support == SupportWorks && SupportOf(above).Support == SupportWorks {
			t.Errorf("%s works, as all of %s does: that needs no entry", limit.Field, above)
		}
	}
}

func parent(field string) string { return field[:strings.LastIndex(field, ".")] }

func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name {
			return t.Field(i).Type, true
		}
	}
	return nil, false
}

func TestSupportOfAFieldIsThatOfTheLongestPath(t *testing.T) {
	for field, want := range map[string]Support{
		"spec":                                   SupportWorks,
		"spec.interval":                          SupportWorks,
		"spec.planOnly":                          SupportWorks,
		"spec.runnerPodTemplate":                 SupportPods,
		"spec.runnerPodTemplate.spec.image":      SupportPods,
		"spec.runnerPodTemplate.spec.volumes[]":  SupportPods,
		"spec.runnerPodTemplate.spec":            SupportPods,
		"spec.runnerPodTemplate.spec.env":        SupportWorks,
		"spec.runnerPodTemplate.spec.envFrom[]":  SupportWorks,
		"spec.runnerPodTemplate.spec.env[].name": SupportWorks,
		"spec.enterprise":                        SupportKept,
		"spec.backendConfig":                     SupportWorks,
		"spec.backendConfig.inClusterConfig":     SupportKept,
		"status.plan.pending":                    SupportWorks,
	} {
		if got := SupportOf(field).Support; got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
}

func TestWhatASpecUsesThatIsAboutPods(t *testing.T) {
	no, yes := false, true
	var pods RunnerPodSpec
	fillFields(reflect.ValueOf(&pods).Elem())
	pods.Env, pods.EnvFrom = nil, nil
	spec := &TerraformSpec{
		ServiceAccountName: "deployer", AlwaysCleanupRunnerPod: &no,
		RunnerPodTemplate: &RunnerPodTemplate{Metadata: RunnerPodMetadata{Labels: map[string]string{"a": "b"}}, Spec: pods},
	}
	want := []string{"spec.serviceAccountName", "spec.alwaysCleanupRunnerPod", "spec.runnerPodTemplate.metadata"}
	fields := reflect.TypeFor[RunnerPodSpec]()
	for i := range fields.NumField() {
		if name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ","); name != "env" && name != "envFrom" {
			want = append(want, "spec.runnerPodTemplate.spec."+name)
		}
	}
	if diff := cmp.Diff(want, names(spec.Unsupported(SupportPods))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	habits := &TerraformSpec{
		ServiceAccountName: "tf-runner", AlwaysCleanupRunnerPod: &yes, StoreReadablePlan: "none",
		RunnerPodTemplate: &RunnerPodTemplate{}, Values: &apiextensionsv1.JSON{Raw: []byte(`{"a":"b"}`)},
	}
	for _, support := range []Support{SupportPods, SupportIgnored, SupportRefused} {
		if used := names(habits.Unsupported(support)); used != nil {
			t.Errorf("common fields are %s: %v", support, used)
		}
	}
	env := &TerraformSpec{RunnerPodTemplate: &RunnerPodTemplate{Spec: RunnerPodSpec{Env: []corev1.EnvVar{{Name: "A"}}}}}
	if used := names(env.Unsupported(SupportPods)); used != nil {
		t.Errorf("the environment is not about Pods only: %v", used)
	}
}

func names(fields []FieldSupport) []string {
	var all []string
	for _, f := range fields {
		all = append(all, f.Name())
	}
	return all
}

// fillFields sets every field to a value other than zero.
func fillFields(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Map:
			f.Set(reflect.MakeMap(f.Type()))
			f.SetMapIndex(reflect.ValueOf("a"), reflect.ValueOf("b"))
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.String:
			f.SetString("x")
		default:
			panic("teach this test about " + f.Kind().String())
		}
	}
}
