// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

func TestWhereAStateIs(t *testing.T) {
	there := &infrav1.BackendStatus{Location: "s3 bucket=a key=b"}
	for what, c := range map[string]struct {
		status infrav1.TerraformStatus
		want   string
	}{
		"nothing was applied yet":                      {infrav1.TerraformStatus{}, ""},
		"Yuba keeps it":                                {infrav1.TerraformStatus{StateSerial: ptr.To[int64](3), LastAppliedRevision: "r"}, "yuba"},
		"there was only a plan":                        {infrav1.TerraformStatus{StateSerial: ptr.To[int64](0)}, ""},
		"a failed apply left one":                      {infrav1.TerraformStatus{StateSerial: ptr.To[int64](1), LastFailedApply: &infrav1.RunReference{}}, "yuba"},
		"plans of an adopted state found no changes":   {infrav1.TerraformStatus{StateSerial: ptr.To[int64](7), LastAppliedRun: "r1"}, "yuba"},
		"a plan of a pushed state waits":               {infrav1.TerraformStatus{StateSerial: ptr.To[int64](7)}, "yuba"},
		"a custom backend":                             {infrav1.TerraformStatus{Backend: there}, there.Location},
		"a custom backend, after Yuba's own":           {infrav1.TerraformStatus{Backend: there, StateSerial: ptr.To[int64](3), LastAppliedRevision: "r"}, there.Location},
		"a custom backend of an earlier release: none": {infrav1.TerraformStatus{LastAppliedRevision: "r"}, ""},
	} {
		if got, known := (&infrav1.Terraform{Status: c.status}).StateLocation(); got != c.want || known != (c.want != "") {
			t.Errorf("%s: %q %v", what, got, known)
		}
	}
}

// TestOnlyACompleteMigrationMovesAStack: whatever else a migration ends with, the stack stays with the
// former backend.
func TestOnlyACompleteMigrationMovesAStack(t *testing.T) {
	was, is := infrav1.BackendStatus{Location: "yuba"}, infrav1.BackendStatus{Location: "s3 bucket=a key=b"}
	there, err := json.Marshal(is)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		outcome run.Outcome
		preview bool
		want    string
	}{
		{run.OutcomeSucceeded, false, is.Location},
		{run.OutcomeSucceeded, true, was.Location},
		{run.OutcomeFailed, false, was.Location},
		{run.OutcomeInterrupted, false, was.Location},
		{run.OutcomeCanceled, false, was.Location},
	} {
		obj := &infrav1.Terraform{Status: infrav1.TerraformStatus{Backend: was.DeepCopy()}}
		takeMigration(obj, run.Record{Result: &run.Result{Outcome: c.outcome}, Spec: run.Spec{
			StateChange: &run.StateChange{Verb: run.StateMigrate, Preview: c.preview, Migration: &run.Migration{Destination: there}}}})
		if got := obj.Status.Backend.Location; got != c.want {
			t.Errorf("%s, preview %v: %s", c.outcome, c.preview, got)
		}
	}
}

func TestTheBackendOfARunIsRecorded(t *testing.T) {
	record := func(kind run.BackendKind, location string, generation int64, result run.Result, with ...func(*run.Record)) run.Record {
		rec := run.Record{Generation: generation, Result: &result, Spec: run.Spec{Backend: run.Backend{Kind: kind, Location: location}}}
		for _, change := range with {
			change(&rec)
		}
		return rec
	}
	stored := func(r *run.Record) { r.StateMark = &run.StateMark{Serial: 1} }
	kept := func(r *run.Record) { r.UsedKept = true }
	applied := run.Result{Outcome: run.OutcomeSucceeded, Applied: true, ApplyStarted: true}
	failed := run.Result{Outcome: run.OutcomeFailed, ApplyStarted: true}
	interrupted := run.Result{Outcome: run.OutcomeInterrupted, ApplyStarted: true}
	config := &infrav1.BackendConfigSpec{CustomConfiguration: "as in the spec"}
	whole, place := &infrav1.BackendStatus{Location: "gcs bucket=a", BackendConfig: config}, &infrav1.BackendStatus{Location: "gcs bucket=a"}
	other := &infrav1.BackendStatus{Location: "gcs bucket=b", BackendConfig: config}
	for what, c := range map[string]struct {
		rec  run.Record
		was  *infrav1.BackendStatus
		want *infrav1.BackendStatus
	}{
		"applied":                                {record(run.BackendOwn, "gcs bucket=a", 2, applied), nil, whole},
		"applied again":                          {record(run.BackendOwn, "gcs bucket=a", 2, applied), place, whole},
		"no changes":                             {record(run.BackendOwn, "gcs bucket=a", 2, run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{}}), nil, whole},
		"changes, which wait":                    {record(run.BackendOwn, "gcs bucket=a", 2, run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true}}), nil, nil},
		"the plan failed":                        {record(run.BackendOwn, "gcs bucket=a", 2, run.Result{Outcome: run.OutcomeFailed}), nil, nil},
		"the apply failed halfway":               {record(run.BackendOwn, "gcs bucket=a", 2, failed), nil, whole},
		"the apply was cut off":                  {record(run.BackendOwn, "gcs bucket=a", 2, interrupted), nil, whole},
		"the spec has changed meanwhile":         {record(run.BackendOwn, "gcs bucket=a", 1, applied), nil, place},
		"it has, and the apply failed":           {record(run.BackendOwn, "gcs bucket=a", 1, failed), nil, place},
		"it has, and the backend is known":       {record(run.BackendOwn, "gcs bucket=a", 1, applied), other, other},
		"the configuration of the last apply":    {record(run.BackendOwn, "gcs bucket=a", 2, applied, kept), nil, place},
		"Yuba's own store, as for others":        {record(run.BackendManaged, "yuba", 2, applied, stored), nil, nil},
		"the first apply there failed":           {record(run.BackendManaged, "yuba", 1, failed, stored), nil, &infrav1.BackendStatus{Location: "yuba"}},
		"the first apply there stored no state":  {record(run.BackendManaged, "yuba", 2, failed), nil, nil},
		"a run of an earlier release":            {record(run.BackendOwn, "", 2, applied), nil, nil},
		"an apply of an earlier release, failed": {record(run.BackendOwn, "", 2, failed), nil, nil},
	} {
		obj := &infrav1.Terraform{Spec: infrav1.TerraformSpec{BackendConfig: config}, Status: infrav1.TerraformStatus{Backend: c.was}}
		obj.Generation = 2
		learnBackend(obj, c.rec)
		if !reflect.DeepEqual(obj.Status.Backend, c.want) {
			t.Errorf("%s: %+v, want %+v", what, obj.Status.Backend, c.want)
		}
	}
}

// TestAnIdleStackLearnsItsBackend: an earlier release did not record it, and its passes find nothing new.
func TestAnIdleStackLearnsItsBackend(t *testing.T) {
	there := &infrav1.BackendStatus{Location: "gcs bucket=a"}
	serial := ptr.To[int64](3)
	for what, c := range map[string]struct {
		status  infrav1.TerraformStatus
		backend run.Backend
		want    bool
	}{
		"a custom backend":                {infrav1.TerraformStatus{}, run.Backend{Kind: run.BackendOwn, Location: "gcs bucket=a"}, true},
		"which is recorded":               {infrav1.TerraformStatus{Backend: there}, run.Backend{Kind: run.BackendOwn, Location: "gcs bucket=a"}, false},
		"a run of an earlier release":     {infrav1.TerraformStatus{}, run.Backend{Kind: run.BackendOwn}, false},
		"Yuba's own store":                {infrav1.TerraformStatus{StateSerial: serial}, run.Backend{Kind: run.BackendManaged, Location: "yuba"}, false},
		"Yuba's own store, without state": {infrav1.TerraformStatus{}, run.Backend{Kind: run.BackendManaged, Location: "yuba"}, false},
	} {
		obj := &infrav1.Terraform{Status: c.status}
		obj.Status.ConfigDigest = "sha256:c"
		setReady(obj, metav1.ConditionTrue, infrav1.ReasonNoDrift, "")
		rec := run.Record{Config: "sha256:c", Spec: run.Spec{Backend: c.backend}, Result: &run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{}}}
		if got := worthRecording(obj, rec); got != c.want {
			t.Errorf("%s: worth recording %v", what, got)
		}
	}
}

func TestTheSpecCompletesARecordedBackend(t *testing.T) {
	spec := infrav1.TerraformSpec{BackendConfig: &infrav1.BackendConfigSpec{CustomConfiguration: "as in the spec"}}
	was := &infrav1.BackendConfigSpec{CustomConfiguration: "as it was"}
	for what, c := range map[string]struct {
		spec infrav1.TerraformSpec
		was  *infrav1.BackendStatus
		want *infrav1.BackendStatus
	}{
		"it names it again":        {spec, &infrav1.BackendStatus{Location: "gcs bucket=a"}, &infrav1.BackendStatus{Location: "gcs bucket=a", BackendConfig: spec.BackendConfig}},
		"it names another one":     {spec, &infrav1.BackendStatus{Location: "gcs bucket=b"}, &infrav1.BackendStatus{Location: "gcs bucket=b"}},
		"the configuration is set": {spec, &infrav1.BackendStatus{Location: "gcs bucket=a", BackendConfig: was}, &infrav1.BackendStatus{Location: "gcs bucket=a", BackendConfig: was}},
		"Yuba's own store":         {infrav1.TerraformSpec{}, &infrav1.BackendStatus{Location: "yuba"}, &infrav1.BackendStatus{Location: "yuba"}},
		"nothing is recorded":      {spec, nil, nil},
	} {
		obj := &infrav1.Terraform{Spec: c.spec, Status: infrav1.TerraformStatus{Backend: c.was}}
		completeBackend(obj, "gcs bucket=a")
		if !reflect.DeepEqual(obj.Status.Backend, c.want) {
			t.Errorf("%s: %+v, want %+v", what, obj.Status.Backend, c.want)
		}
	}
}

func TestARollbackWhileTheStateIsElsewhere(t *testing.T) {
	rollback, push := &run.StateChange{Verb: run.StateRollback}, &run.StateChange{Verb: run.StatePush}
	elsewhere, here := &infrav1.BackendStatus{Location: "s3 bucket=a"}, &infrav1.BackendStatus{Location: "yuba"}
	for what, c := range map[string]struct {
		status infrav1.TerraformStatus
		change *run.StateChange
		want   bool
	}{
		"elsewhere":                       {infrav1.TerraformStatus{Backend: elsewhere}, rollback, false},
		"elsewhere, with a former serial": {infrav1.TerraformStatus{Backend: elsewhere, StateSerial: ptr.To[int64](3)}, rollback, false},
		"moved here":                      {infrav1.TerraformStatus{Backend: here}, rollback, true},
		"always here":                     {infrav1.TerraformStatus{StateSerial: ptr.To[int64](3)}, rollback, true},
		"not known":                       {infrav1.TerraformStatus{}, rollback, true},
		"a push of a copy, to accept":     {infrav1.TerraformStatus{Backend: elsewhere}, push, true},
		"a shell":                         {infrav1.TerraformStatus{Backend: elsewhere}, nil, true},
	} {
		if err := mayRollBack(&infrav1.Terraform{Status: c.status}, run.Request{Change: c.change}); (err == nil) != c.want {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestAPlaceThatIsNotUnderstood: a stack stops when a hidden setting changes, except for what an earlier release recorded.
func TestAPlaceThatIsNotUnderstood(t *testing.T) {
	at := func(digest string) string { return "pg conn_str=(hidden" + digest + ") schema_name=a" }
	for _, c := range []struct {
		was, now, recorded string
		stops              bool
	}{
		{at(" 00000001-aaaaaaaa"), at(" 00000001-aaaaaaaa"), at(" 00000001-aaaaaaaa"), false},
		{at(" 00000001-aaaaaaaa"), at(" 00000001-bbbbbbbb"), at(" 00000001-aaaaaaaa"), true},
		{at(""), at(" 00000001-bbbbbbbb"), at(" 00000001-bbbbbbbb"), false},
		{at(" 00000002-aaaaaaaa"), at(" 00000001-bbbbbbbb"), at(" 00000001-bbbbbbbb"), false},
	} {
		obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "x"}, Status: infrav1.TerraformStatus{Backend: &infrav1.BackendStatus{Location: c.was}}}
		completeBackend(obj, c.now)
		if got := obj.Status.Backend.Location; got != c.recorded {
			t.Errorf("%s, then %s: recorded is %s", c.was, c.now, got)
		}
		if same := inputs.SamePlace(c.was, c.now); same == c.stops {
			t.Errorf("%s, then %s: the same place is %v", c.was, c.now, same)
		}
		if says := backendMoved(c.was, c.now, obj); c.stops && (!strings.Contains(says, "yuba state migrate x -n n --accept") || !strings.Contains(says, "may name another place")) {
			t.Errorf("%s, then %s: %s", c.was, c.now, says)
		}
	}
}
