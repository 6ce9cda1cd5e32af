// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package parcel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/gateway/parcel"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

var stackHeader = member{"yuba-stack.json", `{"format":1,"namespace":"team","name":"vpc","uid":"uid-a"}`}

// records is a record of the first run, with changes.
func records(t testing.TB, change ...func(*run.Record)) string {
	t.Helper()
	var rec run.Record
	if err := json.Unmarshal(recordOf(t, run.Stack{Namespace: "team", Name: "vpc", UID: "uid-a"}, firstRun, ""), &rec); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(&rec)
	}
	data, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// content is everything in a home's blob store.
func (h *home) content(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for info, err := range h.blobs.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		data, err := h.blobs.Get(t.Context(), info.Key, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		all[info.Key] = string(data)
	}
	return all
}

func TestReadNeverReplacesHistory(t *testing.T) {
	runs, log := "runs/"+firstRun+"/", "runs/"+firstRun+"/"+run.BlobLog
	other := packed(t, 3, "uid-a")
	for sentence, c := range map[string]struct {
		members []member
		want    string
	}{
		"a log with other content":       {[]member{{log, "other"}, {runs + "record.json", records(t)}}, "never replaces history"},
		"a run with another outcome":     {[]member{{runs + "record.json", records(t, func(r *run.Record) { r.Result.Outcome = run.OutcomeFailed })}}, "never replaces history"},
		"a run with another plan":        {[]member{{runs + "record.json", records(t, func(r *run.Record) { r.PlanDigest = "sha256:other" })}}, "never replaces history"},
		"a plan with another text":       {[]member{{runs + "plan.txt", "nothing"}, {runs + "record.json", records(t)}}, "does not belong to the plan"},
		"another plan and its own text":  {[]member{{runs + "plan.txt", "nothing"}, {runs + "record.json", records(t, func(r *run.Record) { r.PlanSums[run.BlobPlanText] = sumOf("nothing") })}}, "never replaces history"},
		"another state of the same id":   {[]member{{"states/" + versionID, string(packedState(t, `{"version":4,"serial":3,"lineage":"l","resources":[],"outputs":{}}`, "uid-a"))}}, "another state is stored under its id"},
		"good members before a bad one":  {[]member{{"lock.hcl", "new"}, {"states/" + strings.Replace(versionID, "-3", "-4", 1), string(other)}}, "another state"},
		"a lock file and no manifest":    {nil, "truncated"},
		"a state of another serial here": {[]member{{"states/" + versionID, string(packed(t, 4, "uid-a"))}}, "another state"},
	} {
		t.Run(sentence, func(t *testing.T) {
			to := filled(t)
			before := to.content(t)
			data := sealed(t, append([]member{stackHeader}, c.members...)...)
			if c.members == nil {
				data = pack(t, stackHeader, member{"lock.hcl", "new"}, member{"runs/" + firstRun + "/" + run.BlobLog, strings.Repeat("x", 1<<20)})
			}
			_, err := to.Read(t.Context(), bytes.NewReader(data), to.subject)
			var bad *parcel.BadError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
			if diff := cmp.Diff(before, to.content(t)); diff != "" {
				t.Errorf("the store was changed (-want +got):\n%s", diff)
			}
		})
	}
}

// A home may have pruned parts of a run. They do not come back, as nothing proves that they are its.
func TestReadDoesNotCompleteRuns(t *testing.T) {
	from, to := filled(t), newHome(t, "uid-b")
	if _, err := to.Read(t.Context(), bytes.NewReader(from.export(t)), to.subject); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{run.BlobPlanText, run.BlobLog} {
		if err := to.blobs.Delete(t.Context(), to.subject.Stack.Key(firstRun, part)); err != nil {
			t.Fatal(err)
		}
	}
	before := to.content(t)
	if _, err := to.Read(t.Context(), bytes.NewReader(from.export(t)), to.subject); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, to.content(t)); diff != "" {
		t.Errorf("the second import changed (-want +got):\n%s", diff)
	}
}

func TestThePlaceOfQuietPassesHasTheNewest(t *testing.T) {
	to := newHome(t, "uid-b")
	quiet := func(id, log string) []byte {
		return sealed(t, stackHeader, member{"runs/quiet/" + run.BlobLog, log}, member{"runs/quiet/record.json", records(t, func(r *run.Record) { r.Spec.ID = id })})
	}
	for _, c := range []struct{ id, log, want string }{{firstRun, "one", "one"}, {secondRun, "two", "two"}, {firstRun, "one", "two"}} {
		if _, err := to.Read(t.Context(), bytes.NewReader(quiet(c.id, c.log)), to.subject); err != nil {
			t.Fatal(err)
		}
		if c.log == "one" && c.want == "one" {
			to.put(t, "quiet", run.BlobPlan, "the plan of the first pass")
		}
		if got, err := to.blobs.Get(t.Context(), to.subject.Stack.Key("quiet", run.BlobLog), 100); err != nil || string(got) != c.want {
			t.Errorf("after %s it is %q (%v), want %q", c.id, got, err, c.want)
		}
	}
	if _, left := to.content(t)[to.subject.Stack.Key("quiet", run.BlobPlan)]; left {
		t.Error("a plan of the earlier pass is left")
	}
}

// The text of a plan is approved, and the plan is applied.
func TestPlansComeOnlyWithTheirForms(t *testing.T) {
	plan, dir := member{"runs/" + firstRun + "/plan", "plan"}, "runs/"+firstRun+"/"
	for sentence, c := range map[string]struct {
		record  string
		want    bool
		damaged []string
	}{
		"a plan whose text the record covers":      {records(t), true, nil},
		"one of an older server, without sums":     {records(t, func(r *run.Record) { r.PlanSums = nil }), false, []string{dir + "plan"}},
		"one whose record names no digest":         {records(t, func(r *run.Record) { r.PlanDigest = "" }), false, []string{dir + "plan"}},
		"one for another state than the stack's":   {records(t, func(r *run.Record) { r.State.Suffix = "db" }), false, []string{dir + "plan"}},
		"one of a run with another kind of state ": {records(t, func(r *run.Record) { r.Spec.Backend.Kind = run.BackendOwn }), false, []string{dir + "plan"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			to := newHome(t, "uid-b")
			data := sealed(t, stackHeader, plan, member{dir + "plan.txt", "text"}, member{dir + "record.json", c.record})
			summary, err := to.Read(t.Context(), bytes.NewReader(data), to.subject)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.damaged, summary.Damaged); diff != "" {
				t.Errorf("damaged (-want +got):\n%s", diff)
			}
			if _, got := to.content(t)[to.subject.Stack.Key(firstRun, run.BlobPlan)]; got != c.want {
				t.Errorf("the plan was stored: %v, want %v", got, c.want)
			}
		})
	}
}

// A record of another state could point a destruction at it.
func TestRecordsNameTheStateOfTheStack(t *testing.T) {
	for sentence, change := range map[string]func(*run.Record){
		"another suffix":    func(r *run.Record) { r.State.Suffix = "db" },
		"another workspace": func(r *run.Record) { r.State.Workspace, r.Spec.Workspace = "prod", "prod" },
		"another stack":     func(r *run.Record) { r.State.Stack = "db" },
		"another backend":   func(r *run.Record) { r.Spec.Backend = run.Backend{Kind: run.BackendOwn, Override: "x"} },
	} {
		t.Run(sentence, func(t *testing.T) {
			to := newHome(t, "uid-b")
			data := sealed(t, stackHeader, member{"runs/" + firstRun + "/record.json", records(t, change)})
			if _, err := to.Read(t.Context(), bytes.NewReader(data), to.subject); err != nil {
				t.Fatal(err)
			}
			var rec run.Record
			if err := json.Unmarshal([]byte(to.content(t)[to.subject.Stack.Key(firstRun, run.BlobRecord)]), &rec); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(ownState, rec.State); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
			if len(rec.Spec.Env) > 0 || rec.Spec.Backend.Kind != "" || rec.Spec.Artifact.Digest != "" {
				t.Errorf("its inputs can be used again: %+v", rec.Spec)
			}
		})
	}
}

func TestImportsHaveATotalLimit(t *testing.T) {
	from, to := filled(t), newHome(t, "uid-b")
	to.MaxTotal = 1 << 20
	before := to.content(t)
	_, err := to.Read(t.Context(), bytes.NewReader(from.export(t)), to.subject)
	var bad *parcel.BadError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), "in all") {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(before, to.content(t)); diff != "" {
		t.Errorf("something was left behind (-want +got):\n%s", diff)
	}
}

func TestTheCallerIsAskedBeforeAnythingIsPublished(t *testing.T) {
	from, to := filled(t), newHome(t, "uid-b")
	before, refused := to.content(t), errors.New("it works again")
	to.subject.Still = func(context.Context) error { return refused }
	if _, err := to.Read(t.Context(), bytes.NewReader(from.export(t)), to.subject); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(before, to.content(t)); diff != "" {
		t.Errorf("it was published (-want +got):\n%s", diff)
	}
}
