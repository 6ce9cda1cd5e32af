// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"net"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// silent is a program whose plan sends a request to a server that never answers.
const silent = `
variable "address" { type = string }
data "terraform_remote_state" "silent" {
  backend = "http"
  config  = { address = var.address, retry_max = 0 }
}
resource "terraform_data" "a" { input = data.terraform_remote_state.silent.outputs }
`

// silence is such a server; asked receives a value for each connection.
func silence(t *testing.T) (address string, asked chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	asked = make(chan struct{}, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			asked <- struct{}{}
		}
	}()
	return "http://" + listener.Addr().String() + "/state", asked
}

// briefly sets a grace period of one second.
func briefly(obj *infrav1.Terraform) {
	second := int64(1)
	obj.Spec.RunnerTerminationGracePeriodSeconds = &second
}

// hanging creates a stack whose first apply hangs in its plan.
func (y *yuba) hanging(t *testing.T, ns string) *infrav1.Terraform {
	t.Helper()
	address, asked := silence(t)
	obj := inline(ns, "hangs", silent, auto, briefly, variable("address", address))
	y.create(t, obj)
	<-asked
	return y.await(t, obj, "its run is active", func(o *infrav1.Terraform) bool { return o.Status.CurrentRun != nil })
}

func readyReason(reason string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool {
		return o.Status.CurrentRun == nil && condition(o, infrav1.ConditionReady).Reason == reason
	}
}

// A first apply plans and applies in one process. While it plans, everything that ends a plan ends
// it, and the status says that it plans.
func TestAFirstApplyThatHangsIsEndedLikeAPlan(t *testing.T) {
	t.Parallel()
	for sentence, end := range map[string]func(*testing.T, *yuba, *infrav1.Terraform){
		"by a suspension": func(t *testing.T, y *yuba, obj *infrav1.Terraform) {
			change(t, y, obj, suspended)
			y.await(t, obj, "nothing runs", readyReason(infrav1.ReasonSuspended))
		},
		"by a deletion": func(t *testing.T, y *yuba, obj *infrav1.Terraform) {
			if err := y.client.Delete(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
			y.awaitGone(t, obj)
		},
		"by a change": func(t *testing.T, y *yuba, obj *infrav1.Terraform) {
			change(t, y, obj, func(o *infrav1.Terraform) {
				o.Spec.Inline = map[string]string{"main.tf": "resource \"terraform_data\" \"a\" {}"}
			})
			y.await(t, obj, "the other program is applied", ready)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			y, ns := common(t)
			obj := y.hanging(t, ns)
			if c := condition(obj, infrav1.ConditionReady); c.Message != infrav1.MessagePlanning || condition(obj, infrav1.ConditionApply).Type != "" {
				t.Errorf("the status says %s: %s", c.Reason, c.Message)
			}
			end(t, y, obj)
		})
	}
}

func TestCancelEndsAPlanAndNothingFollows(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := y.hanging(t, ns)
	if _, news, code := y.run(t, "cancel", name(obj), "no-such-run"); code != 3 || !strings.Contains(news, "no-such-run") {
		t.Errorf("another run: %d %s", code, news)
	}
	out, news := y.do(t, "cancel", name(obj), obj.Status.CurrentRun.ID, "--wait", "-o", "json")
	var rec run.Record
	if err := json.Unmarshal([]byte(out), &rec); err != nil || rec.Result == nil || rec.Result.Class != run.FailureCanceled || rec.StoppedBy == "" {
		t.Errorf("%v %+v", err, rec)
	}
	if !strings.Contains(news, "canceled, nothing was changed") {
		t.Error(news)
	}
	over := y.await(t, obj, "it says so", readyReason(infrav1.ReasonRunCanceled))
	if c := condition(over, infrav1.ConditionStalled); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "yuba replan") {
		t.Errorf("stalled: %+v", c)
	}
	if _, news, code := y.run(t, "cancel", name(obj)); code != 3 || !strings.Contains(news, name(obj)+" does not have a waiting or running run") {
		t.Errorf("once more: %d %s", code, news)
	}
	y.do(t, "replan", name(obj))
	again := y.await(t, obj, "it is planned again", func(o *infrav1.Terraform) bool { return o.Status.CurrentRun != nil })
	y.do(t, "cancel", name(again))
	y.await(t, obj, "it is over again", readyReason(infrav1.ReasonRunCanceled))
}

func TestCancelEndsAnApplyAndKeepsItsState(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := inline(ns, "gated", gated, auto, outputsTo("out"))
	y.create(t, obj)
	reached, _ := y.gate(obj)
	awaitFile(t, reached)
	y.await(t, obj, "it says that it applies", func(o *infrav1.Terraform) bool {
		return condition(o, infrav1.ConditionReady).Message == infrav1.MessageApplying
	})
	_, news := y.do(t, "cancel", name(obj), "--wait")
	if !strings.Contains(news, "killed if it has not stopped after 30s") || !strings.Contains(news, "in the middle of its apply") {
		t.Error(news)
	}
	over := y.await(t, obj, "it says so", readyReason(infrav1.ReasonRunCanceled))
	if c := condition(over, infrav1.ConditionApply); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "canceled by") {
		t.Errorf("apply: %+v", c)
	}
	if got := y.listed(t, obj); !strings.Contains(got, "first") {
		t.Errorf("the state has %q", got)
	}
}
