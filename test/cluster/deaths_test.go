// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// slow creates one resource at once and another after a while, unless it is interrupted.
const slow = `
resource "terraform_data" "first" { input = "made" }
resource "terraform_data" "second" {
  input = terraform_data.first.output
  provisioner "local-exec" { command = "sleep 15" }
}
output "second" { value = terraform_data.second.output }
`

// applying is for await: the apply has begun.
func applying(obj *infrav1.Terraform) string {
	if ref := obj.Status.CurrentRun; ref == nil || ref.Status != "applying" {
		return "it does not apply"
	}
	return ""
}

func TestARunGoesOnWithoutItsLeader(t *testing.T) {
	tm := newTeam(t, false)
	tm.deploy("slow", slow, nil)
	began := tm.await("slow", "it applies", applying).Status.CurrentRun.ID
	before := tm.onlyPod()
	kill(t, &leaders(t)[0])
	obj := tm.await("slow", "it is applied", applied)
	if obj.Status.LastRun.ID != began || obj.Status.LastRun.Status != string(run.OutcomeSucceeded) {
		t.Errorf("run %s began, and the last run is %+v", began, obj.Status.LastRun)
	}
	if after := tm.onlyPod(); after.UID != before.UID {
		t.Errorf("Pod %s began, and Pod %s is there", before.Name, after.Name)
	}
}

// A Pod that is deleted, as by a drain of its node, has time to stop tofu and to deliver the state.
func TestADeletedPodDeliversItsState(t *testing.T) {
	tm := newTeam(t, false)
	tm.deploy("slow", slow, nil)
	began := tm.await("slow", "it applies", applying).Status.CurrentRun.ID
	p := tm.onlyPod()
	must(t, api.Delete(t.Context(), &p))
	obj := tm.await("slow", "its run is over", func(obj *infrav1.Terraform) string {
		if last := obj.Status.LastRun; last == nil || last.ID != began {
			return "the run goes on"
		}
		return ""
	})
	if obj.Status.Unproven != nil {
		t.Errorf("the state was delivered, and these are unproven: %+v", obj.Status.Unproven)
	}
	tm.await("slow", "another Pod applies the rest", applied)
}

// A Pod that vanishes makes the run interrupted: its lock is released, and a fresh plan follows.
func TestAVanishedPodInterruptsItsRun(t *testing.T) {
	tm := newTeam(t, false)
	tm.deploy("slow", slow, nil)
	began := tm.await("slow", "it applies", applying).Status.CurrentRun.ID
	p := tm.onlyPod()
	kill(t, &p)
	tm.await("slow", "its run is interrupted", func(obj *infrav1.Terraform) string {
		if last := obj.Status.LastRun; last == nil || last.ID != began || last.Status != string(run.OutcomeInterrupted) {
			return "it is not interrupted"
		}
		return ""
	})
	tm.await("slow", "another run applies it", applied)
}

// An idle Pod that vanishes is replaced with the next run.
func TestAnIdlePodIsReplaced(t *testing.T) {
	tm := newTeam(t, false)
	tm.deploy("one", small, nil)
	tm.await("one", "it is applied", applied)
	p := tm.onlyPod()
	kill(t, &p)
	tm.deploy("two", small, nil)
	tm.await("two", "it is applied", applied)
}

// Another leader starts nothing: what was applied is proven unchanged.
func TestANewLeaderStartsNothing(t *testing.T) {
	tm := newTeam(t, false)
	for _, name := range []string{"a", "b", "c"} {
		tm.deploy(name, small, nil)
	}
	last := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		last[name] = tm.await(name, "it is applied", applied).Status.LastRun.ID
	}
	old := leaders(t)[0]
	kill(t, &old)
	eventually(t, "another Pod leads", func() string {
		if pods := leaders(t); len(pods) == 0 || pods[0].Name == old.Name || !ready(&pods[0]) {
			return "nobody does"
		}
		return ""
	})
	tm.deploy("d", small, nil) // which the new leader does after it has looked at the others
	tm.await("d", "it is applied", applied)
	for name, id := range last {
		if now := tm.stack(name).Status.LastRun.ID; now != id {
			t.Errorf("%s was run again: %s, then %s", name, id, now)
		}
	}
}

// Prometheus scrapes every replica; the one that leads says so.
func TestEveryReplicaHasMetrics(t *testing.T) {
	eventually(t, "one replica of two leads", func() string {
		values := map[float64]int{}
		for _, p := range leaders(t) {
			families, err := metricsOf(t, &p)
			if err != nil {
				return err.Error()
			}
			values[sum(families["yuba_leader"])]++
		}
		if values[1] != 1 || values[0] != 1 {
			return fmt.Sprint(values)
		}
		return ""
	})
}

func ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Nobody polls for another Pod's runs: a runner's token is its Pod's.
func TestAServiceAccountTokenIsNoCredential(t *testing.T) {
	tm := newTeam(t, false)
	tm.deploy("one", small, nil)
	tm.await("one", "it is applied", applied)
	p := tm.onlyPod()
	for _, v := range p.Spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.ServiceAccountToken != nil && s.ServiceAccountToken.Audience == "" && v.Name == "yuba-token" {
				t.Error("the runner's token is good for the API")
			}
		}
	}
	var secrets corev1.SecretList
	must(t, api.List(t.Context(), &secrets, client.InNamespace(tm.name)))
	for _, s := range secrets.Items {
		if s.Name != "tfstate-default-one" {
			t.Errorf("the namespace has the Secret %s", s.Name)
		}
	}
}
