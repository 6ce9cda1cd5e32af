// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// operate stands in for the stack controller, which makes the run of what a person asks for.
func operate(ctx context.Context, name types.NamespacedName, req run.Request) (run.Record, error) {
	var obj infrav1.Terraform
	if err := stores.client.Get(ctx, name, &obj); err != nil {
		return run.Record{}, err
	}
	stack := run.Stack{Namespace: name.Namespace, Name: name.Name, UID: string(obj.UID)}
	if rec, _, ok := stores.runs.InHand(stack); ok {
		return run.Record{}, &run.RefusedError{Message: fmt.Sprintf("run %s is in hand", rec.Spec.ID)}
	}
	rec := run.Record{Token: "token", Created: time.Now(), Announced: true, By: req.By,
		State: run.StateRef{Namespace: name.Namespace, Workspace: "default", Suffix: name.Name, Stack: name.Name},
		Spec: run.Spec{ID: run.NewID(time.Now()), Stack: stack, Operation: req.Operation, StateChange: req.Change,
			Backend: run.Backend{Kind: run.BackendManaged}, Limits: run.DefaultLimits()}}
	if req.Expect == "moved" {
		return rec, &run.RefusedError{Message: "the state has changed since you read it"}
	}
	if err := stores.runs.Hold(rec); err != nil {
		return rec, err
	}
	return stores.runs.Begin(ctx, rec)
}

func TestAStateIsPushed(t *testing.T) {
	s := newSite(t)
	c := s.as("")
	data := func(serial int) []byte {
		return fmt.Appendf(nil, `{"version":4,"terraform_version":"1.12.0","serial":%d,"lineage":"l-1","outputs":{},"resources":[]}`, serial)
	}
	rec, err := c.Change(t.Context(), s.namespace, "vpc", run.StateChange{Verb: run.StatePush, State: data(4)}, "")
	if err != nil || rec.Result == nil || !strings.Contains(rec.Result.Text, "serial 4") || rec.Token != "" || rec.Spec.StateChange.State != nil {
		t.Fatalf("pushed %+v, %v", rec, err)
	}
	if now, err := c.State(t.Context(), s.namespace, "vpc", ""); err != nil || string(now) != string(data(4)) {
		t.Errorf("state %s, %v", now, err)
	}
	read, err := c.Run(t.Context(), s.namespace, "vpc", rec.Spec.ID)
	if err != nil || read.By == "" || read.By != rec.By || read.Result.Outcome != run.OutcomeSucceeded {
		t.Errorf("run %+v, %v", read, err)
	}
	_, err = c.Change(t.Context(), s.namespace, "vpc", run.StateChange{Verb: run.StatePush, State: data(3)}, "")
	checkStatus(t, err, http.StatusConflict, "--force")
	rec, err = c.Change(t.Context(), s.namespace, "vpc", run.StateChange{Verb: run.StatePush, State: data(3), Force: true}, "")
	if err != nil || rec.StateMark.Serial != 5 {
		t.Errorf("forced %+v, %v", rec.StateMark, err)
	}
	_, err = c.Run(t.Context(), s.namespace, "vpc", "never")
	checkStatus(t, err, http.StatusNotFound, "never")
}

func TestChangesThatAreRefused(t *testing.T) {
	s := newSite(t)
	c := s.as("")
	for sentence, test := range map[string]struct {
		change run.StateChange
		expect string
		code   int32
		want   string
	}{
		"a verb that nobody knows": {run.StateChange{Verb: "destroy"}, "", http.StatusBadRequest, "is not one of"},
		"an address that is a flag": {run.StateChange{Verb: run.StateRemove, Args: []string{"-force"}}, "",
			http.StatusBadRequest, "neither an address nor an id"},
		"a push of nothing":   {run.StateChange{Verb: run.StatePush}, "", http.StatusBadRequest, "requires a state"},
		"a push of no state":  {run.StateChange{Verb: run.StatePush, State: []byte("hello")}, "", http.StatusConflict, "is not a state"},
		"a state that moved":  {run.StateChange{Verb: run.StateRemove, Args: []string{"a.b"}}, "moved", http.StatusConflict, "has changed"},
		"a version not there": {run.StateChange{Verb: run.StateRollback, Args: []string{"00000000000000000001-1"}}, "", http.StatusConflict, "no such version"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := c.Change(t.Context(), s.namespace, "vpc", test.change, test.expect)
			checkStatus(t, err, test.code, test.want)
		})
	}
	s.begin("r1")
	_, err := c.Change(t.Context(), s.namespace, "vpc", run.StateChange{Verb: run.StateRemove, Args: []string{"a.b"}}, "")
	checkStatus(t, err, http.StatusConflict, "run r1 is in hand")
	s.end("r1", run.Result{})
}

// TestWhoMayBreakALock: the right to change states does not include it.
func TestWhoMayBreakALock(t *testing.T) {
	s := newSite(t)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "changes-" + s.namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{content.Group}, Resources: []string{"terraforms/change"}, Verbs: []string{"create"}}}}
	breaker := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "breaks-" + s.namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{content.Group}, Resources: []string{"terraforms/change", "terraforms/unlock"}, Verbs: []string{"create"}}}}
	for _, r := range []*rbacv1.ClusterRole{role, breaker} {
		if err := apitest.Client(t).Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	admin, changes, breaks := s.as("admin"), s.as(role.Name), s.as(breaker.Name)
	migrate := run.StateChange{Verb: run.StateMigrate, BreakLock: "l1"}
	_, err := changes.Change(t.Context(), s.namespace, "vpc", migrate, "moved")
	checkStatus(t, err, http.StatusForbidden, "terraforms/unlock")
	migrate.BreakLock = ""
	_, err = changes.Change(t.Context(), s.namespace, "vpc", migrate, "moved")
	checkStatus(t, err, http.StatusConflict, "has changed")
	migrate.BreakLock = "l1"
	_, err = admin.Change(t.Context(), s.namespace, "vpc", migrate, "moved")
	checkStatus(t, err, http.StatusConflict, "has changed")
	_, err = changes.Change(t.Context(), s.namespace, "vpc", run.StateChange{Verb: run.StateUnlock, Args: []string{"l1"}}, "")
	checkStatus(t, err, http.StatusForbidden, "terraforms/unlock")
	_, err = changes.Change(t.Context(), s.namespace, "vpc", run.StateChange{Verb: run.StateProvidersLock, Args: []string{"linux_amd64"}, Preview: true}, "moved")
	checkStatus(t, err, http.StatusConflict, "has changed") // it reads no state
	reads := []run.StateChange{{Verb: run.StateList}, {Verb: run.StateShow, Args: []string{"a.b"}}, {Verb: run.StateGraph, Preview: true},
		{Verb: run.StateConsole, Preview: true, Input: []byte("1\n")}}
	for _, read := range reads {
		_, err = changes.Change(t.Context(), s.namespace, "vpc", read, "")
		checkStatus(t, err, http.StatusForbidden, "terraforms/state")
		read.BreakLock = "l1"
		_, err = breaks.Change(t.Context(), s.namespace, "vpc", read, "")
		checkStatus(t, err, http.StatusForbidden, "terraforms/state")
		_, err = admin.Change(t.Context(), s.namespace, "vpc", read, "")
		checkStatus(t, err, http.StatusBadRequest, "breaks no lock")
	}
}

func TestVersionsAreToldInLowerCamelCase(t *testing.T) {
	s := newSite(t)
	first := s.write(1, state.Mark{})
	body := s.get("versions")
	if !strings.Contains(body, `"id":"`+first.ID+`"`) || !strings.Contains(body, `"runID":"run-1"`) || strings.Contains(body, `"Serial"`) {
		t.Errorf("versions %s", body)
	}
}

// get reads what is served at a path of the stack's.
func (s *site) get(part string) string {
	s.t.Helper()
	clients, err := kubernetes.NewForConfig(apitest.API(s.t).RESTConfig())
	if err != nil {
		s.t.Fatal(err)
	}
	data, err := clients.RESTClient().Get().AbsPath("/apis/content.yuba.dev/v1alpha1/namespaces", s.namespace, "terraforms", "vpc", part).DoRaw(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}
