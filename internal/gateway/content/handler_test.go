// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

func TestWhatIsPushedBecomesAnArtifact(t *testing.T) {
	s := newSite(t)
	c := s.as("")
	first := packed(t, map[string]string{"main.tf": "# one"})
	pushed, err := c.Push(t.Context(), s.namespace, "live", first)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Push(t.Context(), s.namespace, "live", first)
	if err != nil || !pushed.Changed || again.Changed || again.Digest != pushed.Digest {
		t.Errorf("pushed %+v, then %+v, %v", pushed, again, err)
	}
	var obj sourcev1.ExternalArtifact
	if err := apitest.Client(t).Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "live"}, &obj); err != nil {
		t.Fatal(err)
	}
	size := first.Size()
	want := &meta.Artifact{Digest: pushed.Digest, Revision: "latest@" + pushed.Digest, Size: &size,
		Path:     "externalartifact/" + s.namespace + "/live/" + pushed.Digest + ".tar.gz",
		URL:      "https://yuba.test/apis/content.yuba.dev/v1alpha1/namespaces/" + s.namespace + "/externalartifacts/live/archive?digest=" + pushed.Digest + "&store=this",
		Metadata: map[string]string{infrav1.ArtifactAuthors: "system:apiserver"}}
	got := obj.Status.Artifact.DeepCopy()
	got.LastUpdateTime = metav1.Time{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("artifact (-want +got):\n%s", diff)
	}
	if !apimeta.IsStatusConditionTrue(obj.Status.Conditions, meta.ReadyCondition) {
		t.Errorf("conditions %+v", obj.Status.Conditions)
	}
	second, err := c.Push(t.Context(), s.namespace, "live", packed(t, map[string]string{"main.tf": "# two"}))
	if err != nil || !second.Changed || second.Digest == pushed.Digest {
		t.Errorf("pushed %+v, %v", second, err)
	}
}

func TestPushesThatAreRefused(t *testing.T) {
	s := newSite(t)
	foreign := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "foreign"},
		Spec: sourcev1.ExternalArtifactSpec{SourceRef: &meta.NamespacedObjectKindReference{Kind: "ArtifactGenerator", Name: "them"}}}
	if err := apitest.Client(t).Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	good := packed(t, map[string]string{"main.tf": ""})
	for sentence, test := range map[string]struct {
		name string
		body *bytes.Reader
		code int32
		want string
	}{
		"no archive at all":              {"a", bytes.NewReader([]byte("hello")), http.StatusBadRequest, "the archive was refused"},
		"nothing":                        {"a", bytes.NewReader(nil), http.StatusBadRequest, "the archive was refused"},
		"more than the limit":            {"a", bytes.NewReader(bytes.Repeat([]byte("x"), maxArchive+1)), http.StatusRequestEntityTooLarge, ""},
		"a name that no object can have": {"Not-A-Name", good, http.StatusUnprocessableEntity, "Invalid"},
		"an artifact that others make":   {"foreign", good, http.StatusConflict, "managed by ArtifactGenerator them"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := s.as("").Push(t.Context(), s.namespace, test.name, test.body)
			checkStatus(t, err, test.code, test.want)
		})
	}
}

// checkStatus demands an error that is a metav1.Status.
func checkStatus(t *testing.T, err error, code int32, text string) {
	t.Helper()
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Code != code || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(text)) {
		t.Errorf("got %T %v, want %d %q", err, err, code, text)
	}
}

func TestRunsAreShownWithoutSecrets(t *testing.T) {
	s := newSite(t)
	for _, id := range []string{"r1", "r2"} {
		s.begin(id)
		s.end(id, run.Result{Outcome: run.OutcomeSucceeded, Outputs: json.RawMessage(`{"password":"s3cret"}`), LockFile: []byte("lock-file")})
	}
	list, err := s.as("").Runs(t.Context(), s.namespace, "vpc", 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 2 || list.Items[0].Spec.ID != "r2" {
		t.Errorf("runs %+v", list.Items)
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"s3cret", "token", "lock-file", "bG9jay1maWxl", "password"} {
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%q is in %s", secret, data)
		}
	}
	if list, err = s.as("").Runs(t.Context(), s.namespace, "vpc", 1); err != nil || len(list.Items) != 1 {
		t.Errorf("at most one: %+v, %v", list.Items, err)
	}
	_, err = s.as("").Runs(t.Context(), s.namespace, "vpc", 501)
	checkStatus(t, err, http.StatusBadRequest, "expected a number from 1 to 500")
}

func TestALogIsFollowedUntilItsRunEnds(t *testing.T) {
	s := newSite(t)
	s.begin("r1")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	body, err := s.as("").Log(ctx, s.namespace, "vpc", content.LogOptions{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	s.runner("r1", "PUT", "/log", []byte("one\n"), 0)
	lines := bufio.NewReader(body)
	if line, err := lines.ReadString('\n'); err != nil || line != "one\n" {
		t.Fatalf("heard %q, %v", line, err)
	}
	s.runner("r1", "PUT", "/log", []byte("two\n"), 4)
	s.end("r1", run.Result{Outcome: run.OutcomeSucceeded})
	var rest strings.Builder
	if _, err := lines.WriteTo(&rest); err != nil || rest.String() != "two\n" {
		t.Errorf("heard %q, %v", rest.String(), err)
	}
	// Afterwards it is that of the last run.
	s.status(func(st *infrav1.TerraformStatus) { st.LastRun = &infrav1.RunReference{ID: "r1"} })
	if body, err = s.as("").Log(t.Context(), s.namespace, "vpc", content.LogOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, body); got != "one\ntwo\n" {
		t.Errorf("log %q", got)
	}
}

// askedRuns tells when somebody asked for a log that was not there.
type askedRuns struct {
	content.Runs
	asked chan string
}

func (a askedRuns) WriteLog(ctx context.Context, stack run.Stack, id string, follow bool, w io.Writer) error {
	err := a.Runs.WriteLog(ctx, stack, id, follow, w)
	if errors.Is(err, run.ErrNotFound) {
		select {
		case a.asked <- id:
		default:
		}
	}
	return err
}

// A stack names its run a moment before the run is in hand; whoever asks in that moment waits for
// it.
func TestALogIsAwaitedOnceItsRunIsNamed(t *testing.T) {
	s := newSite(t)
	s.status(func(st *infrav1.TerraformStatus) { st.CurrentRun = &infrav1.RunReference{ID: "r1"} })
	runs := askedRuns{stores.runs, make(chan string, 1)}
	mux := (&content.Handler{Reader: apitest.Client(t), Runs: runs, Log: slog.New(slog.DiscardHandler)}).ServeMux()
	answer, over := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(over)
		path := content.PathPrefix + "/namespaces/" + s.namespace + "/terraforms/vpc/log?follow=true"
		mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	}()
	if id := <-runs.asked; id != "r1" {
		t.Errorf("asked for the log of %q", id)
	}
	s.begin("r1")
	s.runner("r1", "PUT", "/log", []byte("one\n"), 0)
	s.end("r1", run.Result{Outcome: run.OutcomeSucceeded})
	<-over
	if answer.Code != http.StatusOK || answer.Body.String() != "one\n" {
		t.Errorf("answered %d %q", answer.Code, answer.Body)
	}
}

// A pass that only looked at the world and found nothing did not ask the tool to describe that.
func TestThePlanOfAPassThatFoundNothingSaysSo(t *testing.T) {
	s := newSite(t)
	s.begin("r1")
	s.end("r1", run.Result{Outcome: run.OutcomeSucceeded, ToolVersion: "1.12.6", Plan: &run.PlanResult{}})
	document, err := s.as("").Plan(t.Context(), s.namespace, "vpc", "r1")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := plan.Decode(document)
	if err != nil || shown.HasChanges() || shown.Tool != "1.12.6" {
		t.Errorf("%s, %v", document, err)
	}
}

func TestWhichPlanIsShown(t *testing.T) {
	s := newSite(t)
	c := s.as("")
	_, err := c.Plan(t.Context(), s.namespace, "vpc", "")
	checkStatus(t, err, http.StatusNotFound, "does not have a readable plan")
	for _, id := range []string{"r1", "r2"} {
		s.begin(id)
		s.runner(id, "PUT", "/plan.json", []byte(`{"run":"`+id+`"}`), 0)
		s.end(id, run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true}})
	}
	show := func(id, want string) {
		t.Helper()
		var got struct {
			Run      string
			Standing plan.Standing
		}
		document, err := c.Plan(t.Context(), s.namespace, "vpc", id)
		if err != nil || json.Unmarshal(document, &got) != nil || got.Run != want || got.Standing.Run != want {
			t.Errorf("plan of %q: %s, %v", id, document, err)
		}
	}
	show("", "r2")
	s.status(func(st *infrav1.TerraformStatus) { st.Plan.RunID = "r1" })
	show("", "r1")
	show("r2", "r2")
	_, err = c.Plan(t.Context(), s.namespace, "vpc", "never")
	checkStatus(t, err, http.StatusNotFound, "does not have a run never")
	s.begin("r3")
	s.end("r3", run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true}})
	_, err = c.Plan(t.Context(), s.namespace, "vpc", "r3")
	checkStatus(t, err, http.StatusNotFound, "Yuba stores only those of plans that wait for approval")
	// An apply is later than the drift checks that made plans of the same.
	s.status(func(st *infrav1.TerraformStatus) { st.Plan.RunID = "" })
	s.begin("r4", func(r *run.Record) {
		r.Spec.Operation, r.Spec.Plan = run.OperationApply, &run.PlanRef{ID: "plan-main-1", RunID: "r1"}
	})
	show("", "r1")
	// The newest plan that is still kept is shown.
	s.end("r4", run.Result{Outcome: run.OutcomeSucceeded, ApplyStarted: true, Applied: true})
	s.begin("r5", func(r *run.Record) {
		r.Spec.Operation, r.Spec.Plan = run.OperationApply, &run.PlanRef{ID: "plan-main-0", RunID: "r0"}
	})
	show("", "r1")
}

func TestAPlanThatIsNoLongerKeptIsNamed(t *testing.T) {
	s := newSite(t)
	s.begin("r5", func(r *run.Record) {
		r.Spec.Operation, r.Spec.Plan = run.OperationApply, &run.PlanRef{ID: "plan-main-0", RunID: "r0"}
	})
	_, err := s.as("").Plan(t.Context(), s.namespace, "vpc", "")
	checkStatus(t, err, http.StatusNotFound, "the plan of run r0 of "+s.namespace+"/vpc is no longer stored")
}

// keptRuns has records whose plans are gone, and counts how often it is asked for each.
type keptRuns struct {
	content.Runs
	records []run.Record
	asked   map[string]int
}

func (k keptRuns) List(context.Context, run.Stack, int) ([]run.Record, error) {
	return k.records, nil
}

func (k keptRuns) ReadPlan(_ context.Context, _ run.Stack, id string) ([]byte, error) {
	k.asked[id]++
	return nil, run.ErrNotFound
}

func TestAPlanThatIsNoLongerKeptIsAskedForOnce(t *testing.T) {
	s := newSite(t)
	runs := keptRuns{Runs: stores.runs, asked: map[string]int{}}
	for _, id := range []string{"r2", "r1", "r2", "r1", "r1", "r0", "r1"} {
		runs.records = append(runs.records, run.Record{Spec: run.Spec{Plan: &run.PlanRef{RunID: id}}})
	}
	mux := (&content.Handler{Reader: apitest.Client(t), Runs: runs, Log: slog.New(slog.DiscardHandler)}).ServeMux()
	answer := httptest.NewRecorder()
	path := content.PathPrefix + "/namespaces/" + s.namespace + "/terraforms/vpc/plan"
	mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	if answer.Code != http.StatusNotFound || !strings.Contains(answer.Body.String(), "the plan of run r2 of") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	if want := map[string]int{"r0": 1, "r1": 1, "r2": 1}; !maps.Equal(runs.asked, want) {
		t.Errorf("asked for %v, want %v", runs.asked, want)
	}
}

func TestStatesAndTheirVersions(t *testing.T) {
	s := newSite(t)
	c := s.as("")
	_, err := c.State(t.Context(), s.namespace, "vpc", "")
	checkStatus(t, err, http.StatusNotFound, "does not have a state yet")
	first := s.write(1, state.Mark{})
	second := s.write(2, first.Mark())
	for version, want := range map[string]string{"": "vpc-2", first.ID: "vpc-1", second.ID: "vpc-2"} {
		if got, err := c.State(t.Context(), s.namespace, "vpc", version); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("version %q: %s, %v", version, got, err)
		}
	}
	_, err = c.State(t.Context(), s.namespace, "vpc", "00000000000000000001-1")
	checkStatus(t, err, http.StatusNotFound, "")
	list, err := c.Versions(t.Context(), s.namespace, "vpc")
	if err != nil || len(list.Items) != 2 || list.Items[0].ID != second.ID {
		t.Errorf("versions %+v, %v", list.Items, err)
	}
	outputs, err := c.Outputs(t.Context(), s.namespace, "vpc")
	if err != nil || string(outputs["id"].Value) != `"vpc-2"` {
		t.Errorf("outputs %+v, %v", outputs, err)
	}

	rolled, err := c.Rollback(t.Context(), s.namespace, "vpc", first.ID)
	if err != nil {
		t.Fatal(err)
	}
	now, err := s.states.Read(t.Context(), s.key())
	if err != nil || now.Serial != 3 || !strings.Contains(string(now.Data), "vpc-1") {
		t.Errorf("rolled back %+v: state %+v, %v", rolled, now, err)
	}
	s.begin("r1")
	_, err = c.Rollback(t.Context(), s.namespace, "vpc", first.ID)
	checkStatus(t, err, http.StatusConflict, "run r1 is in hand")
	s.end("r1", run.Result{})
	_, err = c.Rollback(t.Context(), s.namespace, "vpc", "")
	checkStatus(t, err, http.StatusBadRequest, "version")
}

func TestAStateInABackendOfItsOwnIsNotHere(t *testing.T) {
	s := newSite(t, func(o *infrav1.Terraform) {
		o.Spec.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: `backend "s3" {}`}
	})
	_, err := s.as("").State(t.Context(), s.namespace, "vpc", "")
	checkStatus(t, err, http.StatusBadRequest, "custom backend")
	if got, err := s.as("").Outputs(t.Context(), s.namespace, "vpc"); err != nil || len(got) != 0 {
		t.Errorf("outputs before the first apply: %v, %v", got, err)
	}
	s.begin("r1")
	s.end("r1", run.Result{Outcome: run.OutcomeSucceeded, Outputs: json.RawMessage(`{"id":{"value":"vpc-9","type":"string","sensitive":false}}`)})
	s.status(func(st *infrav1.TerraformStatus) { st.LastAppliedRun = "r1" })
	if got, err := s.as("").Outputs(t.Context(), s.namespace, "vpc"); err != nil || string(got["id"].Value) != `"vpc-9"` {
		t.Errorf("outputs as tofu printed them: %v, %v", got, err)
	}
}

func TestLocksAreReleasedByTheirExactID(t *testing.T) {
	s := newSite(t)
	c := s.as("")
	checkStatus(t, c.Unlock(t.Context(), s.namespace, "vpc", "x"), http.StatusNotFound, "is not locked")
	lock := func(id string) {
		t.Helper()
		if err := s.states.Lock(t.Context(), s.key(), state.LockInfo{ID: id, Who: "ci@build7"}); err != nil {
			t.Fatal(err)
		}
	}
	lock("lock-1")
	checkStatus(t, c.Unlock(t.Context(), s.namespace, "vpc", "lock-2"), http.StatusConflict, "locked by lock-1")
	first := s.write(1, state.Mark{})
	_, err := c.Rollback(t.Context(), s.namespace, "vpc", first.ID)
	checkStatus(t, err, http.StatusConflict, "ci@build7")
	if err := c.Unlock(t.Context(), s.namespace, "vpc", "lock-1"); err != nil {
		t.Error(err)
	}
	// The lock of a run at work is the run's.
	s.begin("r1")
	lock("r1")
	checkStatus(t, c.Unlock(t.Context(), s.namespace, "vpc", "r1"), http.StatusConflict, "belongs to a run that is executing")
	s.end("r1", run.Result{})
}

func TestWhatIsNotThere(t *testing.T) {
	s := newSite(t)
	_, err := s.as("").Log(t.Context(), s.namespace, "nothing", content.LogOptions{})
	checkStatus(t, err, http.StatusNotFound, fmt.Sprintf(`"%s/nothing" not found`, s.namespace))
	_, err = s.as("").Log(t.Context(), s.namespace, "vpc", content.LogOptions{})
	checkStatus(t, err, http.StatusNotFound, "does not have a run yet")
	_, err = s.as("").Log(t.Context(), s.namespace, "vpc", content.LogOptions{Run: "never"})
	checkStatus(t, err, http.StatusNotFound, "never")
	_, err = s.as("").Backup(t.Context())
	checkStatus(t, err, http.StatusNotFound, "does not have a data directory of its own")
	checkStatus(t, s.as("").Restore(t.Context(), strings.NewReader("x")), http.StatusNotFound, "does not have a data directory of its own")
}
