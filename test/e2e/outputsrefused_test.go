// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// outputOf is a program with an output of this many times ten bytes beside a small one.
func outputOf(tens int) string {
	text := `output "small" { value = "s" }` + "\n"
	if tens > 0 {
		// A range has 1024 elements at most.
		text += "locals {\n  ten = \"0123456789\"\n  a = join(\"\", [for i in range(1000) : local.ten])\n}\n" +
			"output \"big\" { value = join(\"\", [for i in range(" + strconv.Itoa(tens/1000) + ") : local.a]) }\n"
	}
	return text
}

// Yuba records an apply even if the API refuses its outputs: no stack stays in the middle of a run
// that has ended.
func TestOutputsThatTheAPIRefusesAreTold(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: y.namespace(t), Name: "few"}}
	quota.Spec.Hard = corev1.ResourceList{"count/secrets": resource.MustParse("1")}
	y.create(t, quota)
	for name, test := range map[string]struct {
		namespace, program string
		change             func(*infrav1.WriteOutputsToSecretSpec)
		want               []string
		mend               func(*infrav1.Terraform)
	}{
		"large": {ns, outputOf(130_000), nil, []string{
			"write outputs to Secret " + ns + "/out-large: they have 1300001 bytes, and a Secret holds 1048576",
			"The largest: big (1300000 bytes), small (1 bytes)", "spec.writeOutputsToSecret.outputs", "yuba outputs large -n " + ns,
		}, func(o *infrav1.Terraform) { o.Spec.WriteOutputsToSecret.Outputs = []string{"small"} }},
		"labels": {ns, outputOf(0), func(w *infrav1.WriteOutputsToSecretSpec) { w.Labels = map[string]string{"no label": "x"} }, []string{"no label"},
			func(o *infrav1.Terraform) { o.Spec.WriteOutputsToSecret.Labels = nil }},
		"alias": {ns, outputOf(0), func(w *infrav1.WriteOutputsToSecretSpec) { w.Outputs = []string{"small:no/key"} }, []string{"no/key"},
			func(o *infrav1.Terraform) { o.Spec.WriteOutputsToSecret.Outputs = nil }},
		"quota": {quota.Namespace, outputOf(0), nil, []string{"exceeded quota: few"}, func(o *infrav1.Terraform) {
			if err := y.client.Delete(t.Context(), quota); err != nil {
				t.Error(err)
			}
			o.Spec.Interval.Duration *= 2
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			obj := inline(test.namespace, name, test.program, auto, outputsTo("out-"+name))
			if test.change != nil {
				test.change(obj.Spec.WriteOutputsToSecret)
			}
			y.create(t, obj)
			seen := y.await(t, obj, "its outputs are refused", failedWith(infrav1.ReasonOutputsWritingFailed))
			output, ready := condition(seen, infrav1.ConditionOutput), condition(seen, infrav1.ConditionReady)
			if output.Status != metav1.ConditionFalse || output.Reason != infrav1.ReasonOutputsWritingFailed || output.Message != ready.Message {
				t.Errorf("Output: %+v", output)
			}
			for _, part := range test.want {
				if !strings.Contains(ready.Message, part) {
					t.Errorf("the message lacks %q: %s", part, ready.Message)
				}
			}
			if last := seen.Status.LastRun; last == nil || last.Status != "succeeded" || condition(seen, infrav1.ConditionReconciling).Type != "" {
				t.Errorf("last run %+v, conditions %+v", last, seen.Status.Conditions)
			}
			change(t, y, obj, test.mend)
			y.await(t, obj, "it is ready", func(o *infrav1.Terraform) bool {
				return settled(o) && condition(o, infrav1.ConditionOutput).Status == metav1.ConditionTrue && condition(o, infrav1.ConditionReady).Status == metav1.ConditionTrue
			})
			if string(y.secret(t, test.namespace, "out-"+name)["small"]) != "s" {
				t.Error("the outputs were not written")
			}
		})
	}
}
