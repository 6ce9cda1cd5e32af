// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/health"
)

func checkSays(status metav1.ConditionStatus, reason, message string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		setCondition(t, infrav1.ConditionHealthCheck, status, reason, message)
	}
}

func readySays(status metav1.ConditionStatus, reason, message string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) { setReady(t, status, reason, message) }
}

func says(obj *infrav1.Terraform, kind string) string {
	c := conditions.Of(obj, kind)
	if c.Type == "" {
		return ""
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

func TestConditionOfHealthChecks(t *testing.T) {
	healthy := checkSays(metav1.ConditionTrue, infrav1.ReasonHealthChecksSucceeded, infrav1.MessageHealthy)
	const progress = "Unknown Progressing: Health checks in progress"
	for sentence, test := range map[string]struct {
		said func(*infrav1.Terraform)
		last health.Entry
		want string
	}{
		"everything answers":                        {nil, health.Entry{Key: "k", At: finished}, "True HealthChecksSucceed: Health checks succeeded"},
		"a check fails":                             {healthy, health.Entry{Key: "k", At: finished, Failure: "boom"}, "False HealthChecksFailed: boom"},
		"the first check runs":                      {nil, health.Entry{Key: "k", Running: true}, progress},
		"a check after an apply runs":               {healthy, health.Entry{Key: "k", Running: true}, progress},
		"a repeated check runs":                     {healthy, health.Entry{Key: "k", Running: true, Again: true}, "True HealthChecksSucceed: Health checks succeeded"},
		"a check of the previous apply runs":        {healthy, health.Entry{Key: "old", Running: true, Again: true}, progress},
		"the failure is that of the previous apply": {healthy, health.Entry{Key: "old", Failure: "boom"}, progress},
		"the success is that of the previous apply": {healthy, health.Entry{Key: "old"}, progress},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := stackObject()
			if test.said != nil {
				test.said(obj)
			}
			tellHealth(obj, test.last, "k")
			if got := says(obj, infrav1.ConditionHealthCheck); got != test.want {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestHealthGatesReady(t *testing.T) {
	appliedOnce := func(t *infrav1.Terraform) {
		t.Status.LastAppliedRevision = revision
		setCondition(t, infrav1.ConditionApply, metav1.ConditionTrue, infrav1.ReasonApplied, infrav1.MessageApplied)
	}
	wrote := func(t *infrav1.Terraform) {
		setCondition(t, infrav1.ConditionOutput, metav1.ConditionTrue, infrav1.ReasonOutputsWritten, infrav1.MessageOutputsWritten)
	}
	isReady := readySays(metav1.ConditionTrue, infrav1.ReasonApplied, "Applied successfully: "+revision)
	awaits := readySays(metav1.ConditionUnknown, infrav1.ReasonPlannedWithChanges, approve)
	progress := readySays(metav1.ConditionUnknown, infrav1.ReasonProgressing, infrav1.MessageCheckingHealth)
	planning := readySays(metav1.ConditionUnknown, infrav1.ReasonProgressing, infrav1.MessagePlanning)
	sick := readySays(metav1.ConditionFalse, infrav1.ReasonHealthChecksFailed, "boom")
	healthy := checkSays(metav1.ConditionTrue, infrav1.ReasonHealthChecksSucceeded, infrav1.MessageHealthy)
	looking := checkSays(metav1.ConditionUnknown, infrav1.ReasonProgressing, infrav1.MessageCheckingHealth)
	failing := checkSays(metav1.ConditionFalse, infrav1.ReasonHealthChecksFailed, "boom")
	for sentence, test := range map[string]struct {
		change []func(*infrav1.Terraform)
		want   string
	}{
		"a stack without checks is ready":                     {[]func(*infrav1.Terraform){isReady}, "True TerraformAppliedSucceed: Applied successfully: " + revision},
		"a healthy stack is ready":                            {[]func(*infrav1.Terraform){isReady, healthy}, "True TerraformAppliedSucceed: Applied successfully: " + revision},
		"a stack whose checks run is not ready yet":           {[]func(*infrav1.Terraform){isReady, looking}, "Unknown Progressing: Health checks in progress"},
		"an unhealthy stack is not ready":                     {[]func(*infrav1.Terraform){isReady, failing}, "False HealthChecksFailed: boom"},
		"it is ready after the first check":                   {[]func(*infrav1.Terraform){progress, healthy}, "True TerraformAppliedSucceed: Applied successfully: " + revision},
		"it is ready after the first check, with outputs":     {[]func(*infrav1.Terraform){progress, healthy, wrote}, "True TerraformOutputsWritten: Outputs written: " + revision},
		"it is not ready after a failed first check":          {[]func(*infrav1.Terraform){progress, failing}, "False HealthChecksFailed: boom"},
		"it is healthy again":                                 {[]func(*infrav1.Terraform){sick, healthy}, "True TerraformAppliedSucceed: Applied successfully: " + revision},
		"its checks were removed":                             {[]func(*infrav1.Terraform){sick}, "True TerraformAppliedSucceed: Applied successfully: " + revision},
		"a pending plan is reported while it is unhealthy":    {[]func(*infrav1.Terraform){awaits, failing}, "Unknown TerraformPlannedWithChanges: " + approve},
		"a run in progress is reported while it is unhealthy": {[]func(*infrav1.Terraform){planning, failing}, "Unknown Progressing: Terraform Planning"},
		"a pending plan is reported while it is healthy":      {[]func(*infrav1.Terraform){awaits, healthy}, "Unknown TerraformPlannedWithChanges: " + approve},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := stackObject(append([]func(*infrav1.Terraform){appliedOnce}, test.change...)...)
			gateOnHealth(obj)
			if got := says(obj, infrav1.ConditionReady); got != test.want {
				t.Errorf("%s", got)
			}
			lint(t, obj)
			before := obj.DeepCopy()
			gateOnHealth(obj)
			if diff := cmp.Diff(before.Status, obj.Status); diff != "" {
				t.Errorf("it does not stand still (-before +after):\n%s", diff)
			}
		})
	}
}

func TestEqualConditionsKeepTheirTime(t *testing.T) {
	obj := stackObject(readySays(metav1.ConditionFalse, infrav1.ReasonHealthChecksFailed, "boom"))
	obj.Status.Conditions[0].LastTransitionTime = metav1.NewTime(finished)
	before := obj.DeepCopy()
	setReady(obj, metav1.ConditionTrue, infrav1.ReasonNoDrift, "No drift")
	setReady(obj, metav1.ConditionFalse, infrav1.ReasonHealthChecksFailed, "boom")
	sameTransition(obj, before)
	if diff := cmp.Diff(before.Status, obj.Status); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	setReady(obj, metav1.ConditionTrue, infrav1.ReasonNoDrift, "No drift")
	sameTransition(obj, before)
	if obj.Status.Conditions[0].LastTransitionTime.Time.Equal(finished) {
		t.Error("another status since the time of the one before")
	}
}

func TestWhenHealthChecksAreDue(t *testing.T) {
	obj := stackObject(func(t *infrav1.Terraform) {
		t.Spec.Interval.Duration, t.Spec.RetryInterval = time.Hour, &metav1.Duration{Duration: time.Minute}
	})
	for sentence, test := range map[string]struct {
		last  health.Entry
		after time.Duration
		want  bool
	}{
		"at once after a change":                   {health.Entry{Key: "old", At: finished}, 0, true},
		"not again while it is healthy":            {health.Entry{Key: "k", At: finished}, time.Hour - 1, false},
		"on the drift detection interval":          {health.Entry{Key: "k", At: finished}, time.Hour, true},
		"unhealthy: not before the retry interval": {health.Entry{Key: "k", At: finished, Failure: "boom"}, time.Minute - 1, false},
		"unhealthy: after the retry interval":      {health.Entry{Key: "k", At: finished, Failure: "boom"}, time.Minute, true},
	} {
		if got := lookDue(&pass{obj: obj, now: finished.Add(test.after)}, test.last, "k"); got != test.want {
			t.Errorf("%s: due: %v", sentence, got)
		}
	}
}

// Interval 0 disables periodic checks; retry interval 0 must not cause endless ones.
func TestIntervalsOfZero(t *testing.T) {
	obj := stackObject(func(t *infrav1.Terraform) { t.Spec.RetryInterval = &metav1.Duration{} })
	later := passOver(obj)
	later.now = finished.AddDate(1, 0, 0)
	if lookDue(&later.pass, health.Entry{Key: "k", At: finished}, "k") || !lookDue(&later.pass, health.Entry{Key: "old", At: finished}, "k") {
		t.Error("a healthy stack must be checked after a change only")
	}
	if next := nextLook(obj, health.Entry{At: finished, Failure: "boom"}); !next.Equal(finished.Add(time.Second)) {
		t.Errorf("the next attempt is at %s", next)
	}
}

func TestApplyIsReportedWhileHealthChecksRun(t *testing.T) {
	result := applied
	p := passOver(stackObject(readySays(metav1.ConditionTrue, infrav1.ReasonApplied, "Applied successfully: r"),
		checkSays(metav1.ConditionUnknown, infrav1.ReasonProgressing, infrav1.MessageCheckingHealth), func(t *infrav1.Terraform) {
			t.Status.LastAppliedRevision = "r"
			setCondition(t, infrav1.ConditionApply, metav1.ConditionTrue, infrav1.ReasonApplied, infrav1.MessageApplied)
		}))
	p.ended = &run.Record{Result: &result}
	p.gate()
	if len(p.notes) != 1 || p.notes[0].reason != infrav1.ReasonApplied || p.notes[0].message != "Applied successfully: r" || p.notes[0].warning {
		t.Errorf("%+v", p.notes)
	}
	p = passOver(p.obj)
	if p.gate(); len(p.notes) != 0 {
		t.Errorf("reported again: %+v", p.notes)
	}
}

func TestKeyOfHealthChecks(t *testing.T) {
	key := func(change func(*infrav1.Terraform)) string {
		obj := stackObject(func(t *infrav1.Terraform) {
			t.Spec.HealthChecks = []infrav1.HealthCheck{{Name: "a"}}
			t.Status.LastAppliedRun, t.Status.OutputsDigest = "r1", "sha256:o"
		})
		change(obj)
		return healthKey(obj)
	}
	before := key(func(*infrav1.Terraform) {})
	for sentence, change := range map[string]func(*infrav1.Terraform){
		"another apply":   func(t *infrav1.Terraform) { t.Status.LastAppliedRun = "r2" },
		"other outputs":   func(t *infrav1.Terraform) { t.Status.OutputsDigest = "sha256:p" },
		"another check":   func(t *infrav1.Terraform) { t.Spec.HealthChecks[0].Address = "x:1" },
		"one check fewer": func(t *infrav1.Terraform) { t.Spec.HealthChecks = nil },
	} {
		if key(change) == before {
			t.Errorf("%s is not checked", sentence)
		}
	}
	if key(func(t *infrav1.Terraform) { t.Spec.ApprovePlan = "auto" }) != before {
		t.Error("an approval triggers a check")
	}
}
