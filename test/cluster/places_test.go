// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

const small = `
resource "terraform_data" "x" { input = "hello" }
output "x" { value = terraform_data.x.output }
`

func TestAPodServesAllStacksOfItsPlace(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, false)
	tm.deploy("one", small, nil)
	tm.await("one", "it is applied", applied)
	first := tm.onlyPod()
	tm.deploy("two", small, nil)
	tm.await("two", "it is applied", applied)
	if second := tm.onlyPod(); second.UID != first.UID {
		t.Errorf("two stacks of a place got two Pods: %s, %s", first.Name, second.Name)
	}
	if first.Spec.ServiceAccountName != "tf-runner" || !*first.Spec.SecurityContext.RunAsNonRoot {
		t.Errorf("%+v", first.Spec)
	}
}

func TestAnotherTemplateIsAnotherPlace(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, false)
	tm.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "deployer"}})
	tm.deploy("one", small, nil)
	tm.deploy("labelled", small, func(s *infrav1.TerraformSpec) {
		s.RunnerPodTemplate = &infrav1.RunnerPodTemplate{Metadata: infrav1.RunnerPodMetadata{Labels: map[string]string{"cost": "centre"}}}
	})
	tm.deploy("deployed", small, func(s *infrav1.TerraformSpec) { s.ServiceAccountName = "deployer" })
	for _, name := range []string{"one", "labelled", "deployed"} {
		tm.await(name, "it is applied", applied)
	}
	labelled, deployed := 0, 0
	for _, p := range tm.pods() {
		if p.Labels["cost"] == "centre" {
			labelled++
		}
		if p.Spec.ServiceAccountName == "deployer" {
			deployed++
		}
	}
	if n := len(tm.pods()); n != 3 || labelled != 1 || deployed != 1 {
		t.Errorf("%d Pods, %d with the label, %d with the service account", n, labelled, deployed)
	}
}

func TestADedicatedPodIsForOneRun(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, false)
	tm.deploy("one", small, func(s *infrav1.TerraformSpec) { s.DedicatedRunnerPod = true })
	tm.await("one", "it is applied", applied)
	eventually(t, "its Pod is gone", func() string {
		if pods := tm.pods(); len(pods) > 0 {
			return pods[0].Name
		}
		return ""
	})
}

// Each obstacle is on the stack's Ready, and the stack is applied once it is gone.
func TestObstaclesAreOnReady(t *testing.T) {
	for sentence, test := range map[string]struct {
		bare   bool
		before []client.Object
		change func(*infrav1.TerraformSpec)
		says   string
		mend   func(*team)
	}{
		"no service account": {
			bare: true, says: "has no service account tf-runner. Create it, or set spec.serviceAccountName",
			mend: func(tm *team) {
				tm.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "tf-runner"}})
			},
		},
		"a full quota": {
			before: []client.Object{&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{
				Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}}},
			says: "leaves no room for another Pod",
			mend: func(tm *team) {
				must(tm.t, api.Delete(tm.t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: tm.name, Name: "none"}}))
			},
		},
		"a template that the Pod Security Standard refuses": {
			change: func(s *infrav1.TerraformSpec) {
				s.RunnerPodTemplate = &infrav1.RunnerPodTemplate{Spec: infrav1.RunnerPodSpec{SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)}}}
			},
			says: "refuses spec.runnerPodTemplate", mend: withoutTemplate,
		},
		"a template that the API refuses": {
			change: func(s *infrav1.TerraformSpec) {
				s.RunnerPodTemplate = &infrav1.RunnerPodTemplate{Spec: infrav1.RunnerPodSpec{PriorityClassName: "nobody-made-it"}}
			},
			says: "nobody-made-it", mend: withoutTemplate,
		},
		"an image that cannot be pulled": {
			change: func(s *infrav1.TerraformSpec) {
				s.RunnerPodTemplate = &infrav1.RunnerPodTemplate{Spec: infrav1.RunnerPodSpec{Image: "localhost/none:1"}}
			},
			says: "cannot pull the image localhost/none:1", mend: withoutTemplate,
		},
		"a Secret that is missing": {
			change: func(s *infrav1.TerraformSpec) {
				s.RunnerPodTemplate = &infrav1.RunnerPodTemplate{Spec: infrav1.RunnerPodSpec{
					InitContainers: []corev1.Container{{Name: "first", Image: "localhost/none:1", ImagePullPolicy: corev1.PullNever, SecurityContext: restricted()}}}}
			},
			says: "cannot pull the image localhost/none:1", mend: withoutTemplate,
		},
		"a node that no Pod wants": {
			change: func(s *infrav1.TerraformSpec) {
				s.RunnerPodTemplate = &infrav1.RunnerPodTemplate{Spec: infrav1.RunnerPodSpec{NodeSelector: map[string]string{"disk": "none"}}}
			},
			says: "no node takes Pod", mend: withoutTemplate,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			tm := newTeam(t, test.bare)
			for _, o := range test.before {
				tm.create(o)
			}
			tm.deploy("one", small, test.change)
			tm.await("one", sentence, says(test.says))
			test.mend(tm)
			tm.await("one", "it is applied", applied)
		})
	}
}

func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
}

func withoutTemplate(tm *team) {
	tm.t.Helper()
	obj := tm.stack("one")
	before := obj.DeepCopy()
	obj.Spec.RunnerPodTemplate = nil
	must(tm.t, api.Patch(tm.t.Context(), obj, client.MergeFrom(before)))
}

// A run that needs more memory than its Pod has says how much that was and which field raises it.
func TestAPodKilledForMemoryIsExplained(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, false)
	tm.deploy("hungry", `
resource "terraform_data" "x" {
  provisioner "local-exec" { command = "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo $${#x}" }
}`, func(s *infrav1.TerraformSpec) {
		s.RunnerPodTemplate = &infrav1.RunnerPodTemplate{Spec: infrav1.RunnerPodSpec{
			Resources: &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("96Mi")}}}}
	})
	tm.await("hungry", "it says why", says("96 MiB"))
	tm.await("hungry", "it names the field", says("spec.runnerPodTemplate.spec.resources.limits.memory"))
}
