// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/move/steps"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// mover is a namespace with stacks, and the home where the test reads and changes it.
type mover struct {
	t    *testing.T
	name string
	home string
	api  client.Client
	body *content.Client
}

func newMover(t *testing.T, name, kubeconfig string) *mover {
	t.Helper()
	config, err := kubetest.Config(kubeconfig)
	must(t, err)
	api, err := client.New(config, client.Options{Scheme: kubetest.Scheme()})
	must(t, err)
	body, err := content.NewClient(config)
	must(t, err)
	return &mover{t: t, name: name, home: kubeconfig, api: api, body: body}
}

// newEmbedded starts "yuba up" for the time of the test.
func newEmbedded(t *testing.T, name string) *mover {
	t.Helper()
	dir := t.TempDir()
	var addresses [2]string
	for i := range addresses {
		var err error
		addresses[i], err = proctest.FreeAddress()
		must(t, err)
	}
	var log proctest.Log
	cmd := exec.Command(filepath.Join(tofutest.RepositoryRoot(t), "bin", "yuba"), "up", "--data-dir", dir, "--tofu", tofutest.Tofu(t), //nolint:noctx // it is terminated
		"--api-address", addresses[0], "--http-address", addresses[1], "--registry-address", "127.0.0.1:0", "-v")
	must(t, proctest.Start(cmd, "Yuba is ready", &log, patience))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log.Tail())
		}
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()                          // its log says why
		if err := proctest.End(dir); err != nil {
			t.Error(err)
		}
	})
	return newMover(t, name, filepath.Join(dir, "kubeconfig"))
}

// moveTo moves the namespace, and returns the results of the first passes.
func (m *mover) moveTo(to *mover) map[string]string {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(tofutest.RepositoryRoot(m.t), "bin", "yuba"), "move", "--from", m.home, "--to", to.home, "-n", m.name, "--yes", "-o", "json")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+m.home)
	var news proctest.Log
	cmd.Stderr = &news
	out, err := cmd.Output()
	var summary steps.Summary
	if err == nil {
		err = json.Unmarshal(out, &summary)
	}
	if err != nil {
		m.t.Fatalf("move %s from %s to %s: %v\n%s%s", m.name, m.home, to.home, err, out, news.Tail())
	}
	passes := map[string]string{}
	for _, stack := range summary.Stacks {
		passes[stack.Name] = stack.Pass
		if stack.Message != "" {
			m.t.Logf("%s: %s", stack.Name, stack.Message)
		}
	}
	return passes
}

func (m *mover) create(o client.Object) {
	m.t.Helper()
	o.SetNamespace(m.name)
	must(m.t, m.api.Create(m.t.Context(), o))
}

// deploy creates a stack of the program greeting, with its input of the Secret.
func (m *mover) deploy(name string, edit func(*infrav1.TerraformSpec)) {
	m.t.Helper()
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: time.Hour},
		Inline: map[string]string{"main.tf": greeting}, VarsFrom: []infrav1.VarsReference{{Kind: "Secret", Name: "settings"}}}}
	edit(&obj.Spec)
	m.create(obj)
}

func (m *mover) stack(name string) *infrav1.Terraform {
	m.t.Helper()
	var obj infrav1.Terraform
	must(m.t, m.api.Get(m.t.Context(), client.ObjectKey{Namespace: m.name, Name: name}, &obj))
	return &obj
}

func (m *mover) edit(name string, edit func(*infrav1.TerraformSpec)) {
	m.t.Helper()
	obj := m.stack(name)
	before := obj.DeepCopy()
	edit(&obj.Spec)
	must(m.t, m.api.Patch(m.t.Context(), obj, client.MergeFrom(before)))
}

func (m *mover) await(name, sentence string, until func(*infrav1.Terraform) string) *infrav1.Terraform {
	m.t.Helper()
	var obj *infrav1.Terraform
	eventually(m.t, name+": "+sentence, func() string {
		obj = m.stack(name)
		if missing := until(obj); missing != "" {
			return missing + "\n" + describe(obj)
		}
		return ""
	})
	return obj
}

// waits is for await: a plan waits for its approval.
func waits(obj *infrav1.Terraform) string {
	if obj.Status.Plan.Pending == "" || obj.Status.CurrentRun != nil {
		return "no plan waits"
	}
	return ""
}

// history is everything that a move must not change about a stack.
type history struct {
	Runs, Versions []string
	State          string
	Plan           infrav1.PlanStatus
}

func (m *mover) history(name string) history {
	m.t.Helper()
	ctx := m.t.Context()
	runs, err := m.body.Runs(ctx, m.name, name, 100)
	must(m.t, err)
	h := history{Plan: m.stack(name).Status.Plan}
	for _, r := range runs.Items {
		h.Runs = append(h.Runs, r.Spec.ID)
		log, err := m.body.Log(ctx, m.name, name, content.LogOptions{Run: r.Spec.ID})
		must(m.t, err)
		must(m.t, log.Close())
	}
	versions, err := m.body.Versions(ctx, m.name, name)
	must(m.t, err)
	for _, v := range versions.Items {
		h.Versions = append(h.Versions, v.ID)
	}
	state, err := m.body.State(ctx, m.name, name, "")
	must(m.t, err)
	h.State = string(state)
	return h
}

func (m *mover) histories(names ...string) map[string]history {
	m.t.Helper()
	all := map[string]history{}
	for _, name := range names {
		all[name] = m.history(name)
	}
	return all
}

// A namespace of "yuba up" moves to the cluster and back, with states, histories and plans. Nothing is
// created again, and nothing runs that has no reason to.
func TestANamespaceMovesFromOneMachineToTheClusterAndBack(t *testing.T) {
	name := "move-" + rand.String(6)
	machine, cluster := newEmbedded(t, name), newMover(t, name, *kubeconfig)
	must(t, machine.api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}))
	// Runs in Pods need it, and it moves.
	machine.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: infrav1.DefaultServiceAccount}})
	machine.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, StringData: map[string]string{"name": "world"}})
	machine.deploy("base", func(s *infrav1.TerraformSpec) {
		s.ApprovePlan, s.WriteOutputsToSecret = infrav1.ApprovePlanAuto, &infrav1.WriteOutputsToSecretSpec{Name: "base-out"}
	})
	machine.deploy("user", func(s *infrav1.TerraformSpec) {
		s.ApprovePlan, s.VarsFrom = infrav1.ApprovePlanAuto, []infrav1.VarsReference{{Kind: "Secret", Name: "base-out"}}
		s.Inline["main.tf"] = "variable \"greeting\" {}\nresource \"terraform_data\" \"a\" { input = var.greeting }\n"
	})
	for _, stack := range []string{"pending", "approved"} {
		machine.deploy(stack, func(s *infrav1.TerraformSpec) {
			s.ApprovePlan, s.VarsFrom, s.Vars = infrav1.ApprovePlanAuto, nil, []infrav1.Variable{{Name: "name", Value: jsonValue("one")}}
		})
	}
	all := []string{"base", "user", "pending", "approved"}
	for _, stack := range all {
		machine.await(stack, "it is applied", applied)
	}
	// The changes of two stacks wait, one of them with its approval: it is suspended.
	for _, stack := range []string{"pending", "approved"} {
		machine.edit(stack, func(s *infrav1.TerraformSpec) {
			s.ApprovePlan, s.Vars[0].Value = "", jsonValue("two")
		})
		machine.await(stack, "its change waits", waits)
	}
	machine.edit("approved", func(s *infrav1.TerraformSpec) { s.Suspend = true })
	machine.edit("approved", func(s *infrav1.TerraformSpec) {
		s.ApprovePlan = machine.stack("approved").Status.Plan.Pending
	})
	before := machine.histories(all...)

	passes := machine.moveTo(cluster)
	t.Cleanup(func() { removeTeam(t, name) })
	want := map[string]string{"base": steps.PassUnchanged, "user": steps.PassUnchanged, "pending": steps.PassPending, "approved": steps.PassSuspended}
	if diff := cmp.Diff(want, passes); diff != "" {
		t.Errorf("first passes in the cluster (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, cluster.histories(all...)); diff != "" {
		t.Errorf("histories in the cluster (-machine +cluster):\n%s", diff)
	}
	if pods := (&team{t: t, name: name}).pods(); len(pods) != 0 {
		t.Errorf("the first passes needed %d Pods", len(pods))
	}

	// Both plans are applied as they were made.
	cluster.edit("approved", func(s *infrav1.TerraformSpec) { s.Suspend = false })
	cluster.edit("pending", func(s *infrav1.TerraformSpec) { s.ApprovePlan = before["pending"].Plan.Pending })
	for _, stack := range []string{"pending", "approved"} {
		plan := before[stack].Plan
		obj := cluster.await(stack, "its plan is applied", func(o *infrav1.Terraform) string {
			if o.Status.Plan.LastApplied != plan.Pending {
				return "it is not applied"
			}
			return applied(o)
		})
		run, err := cluster.body.Run(t.Context(), name, stack, obj.Status.LastRun.ID)
		must(t, err)
		if run.Spec.Operation != "apply" || run.Spec.Plan == nil || run.Spec.Plan.RunID != plan.RunID || run.Spec.Plan.Digest != plan.Digest {
			t.Errorf("%s: run %s is %s of %+v, want the apply of %+v", stack, run.Spec.ID, run.Spec.Operation, run.Spec.Plan, plan)
		}
		if was, is := idsOf(t, before[stack].State), idsOf(t, cluster.history(stack).State); !cmp.Equal(was, is) {
			t.Errorf("the change of %s created resources again: %v, they were %v", stack, is, was)
		}
	}
	before = cluster.histories(all...)

	// And back.
	passes = cluster.moveTo(machine)
	for _, stack := range all {
		want[stack] = steps.PassUnchanged
	}
	if diff := cmp.Diff(want, passes); diff != "" {
		t.Errorf("first passes at the machine (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, machine.histories(all...)); diff != "" {
		t.Errorf("histories at the machine (-cluster +machine):\n%s", diff)
	}
	settings := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "settings"}}
	must(t, machine.api.Patch(t.Context(), settings, client.RawPatch(types.MergePatchType, []byte(`{"stringData":{"name":"home"}}`))))
	machine.await("user", "changes go on there", func(o *infrav1.Terraform) string {
		if len(machine.history("user").Versions) == len(before["user"].Versions) {
			return "its state has no new version"
		}
		return applied(o)
	})
}

// idsOf are the ids of the resources in a state.
func idsOf(t *testing.T, state string) (ids []string) {
	t.Helper()
	var s struct {
		Resources []struct {
			Instances []struct{ Attributes struct{ ID string } }
		}
	}
	must(t, json.Unmarshal([]byte(state), &s))
	for _, r := range s.Resources {
		for _, i := range r.Instances {
			ids = append(ids, i.Attributes.ID)
		}
	}
	return ids
}
