// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// A waiting Kustomization fails at once if a stack is Stalled, and continues when the stack is
// fixed.
func TestWaitingForAStackWithAWrongVariableFailsAtOnce(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	manifest := func(vars string) gittest.Files {
		return gittest.Files{"vpc.yaml": fmt.Sprintf(`
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: vpc, namespace: %s}
spec:
  interval: 1h
  approvePlan: auto
  vars: %s
  inline: {main.tf: "variable \"size\" { type = number }\noutput \"size\" { value = var.size }\n"}
`, ns, vars)}
	}
	repository := gittest.New(t).Repository(t, "stacks")
	repository.Commit(t, "of another type", manifest(`[{name: size, value: many}]`))
	k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "stacks"}, Spec: kustomizev1.KustomizationSpec{Wait: true,
		Timeout: &metav1.Duration{Duration: time.Hour}, Interval: metav1.Duration{Duration: time.Hour},
		SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "stacks"}}}
	y.create(t, &sourcev1.GitRepository{ObjectMeta: k.ObjectMeta, Spec: sourcev1.GitRepositorySpec{URL: repository.URL(),
		Interval: metav1.Duration{Duration: time.Second}, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}}}, k)
	await := func(sentence string, is func(ready metav1.Condition) bool) {
		t.Helper()
		var said string
		for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(k), k); err != nil {
				t.Fatal(err)
			}
			if ready := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReadyCondition); ready != nil {
				if said = fmt.Sprintf("%s %s: %s", ready.Status, ready.Reason, ready.Message); is(*ready) {
					return
				}
			}
		}
		t.Fatalf("%s: Ready is %s", sentence, said)
	}
	failedFor := func(words string) func(metav1.Condition) bool {
		return func(c metav1.Condition) bool {
			return c.Reason == meta.HealthCheckFailedReason && strings.Contains(c.Message, "failed early due to stalled resources") && strings.Contains(c.Message, words)
		}
	}
	await("a value of another type", failedFor("a number is required"))
	repository.Commit(t, "missing", manifest(`[]`))
	await("a variable that nobody sets", failedFor("it has neither a value nor a default"))
	repository.Commit(t, "mended", manifest(`[{name: size, value: 3}]`))
	await("it is fixed", func(c metav1.Condition) bool { return c.Status == metav1.ConditionTrue })
}
