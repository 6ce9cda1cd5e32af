// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

// inputsThat returns a stack's inputs with a change.
func inputsThat(change func(*known)) known {
	serial := uint64(4)
	k := known{artifact: run.Artifact{Digest: "sha256:a", Revision: "main@sha1:aaa"}, path: "live", tool: "tofu 1.12.0", serial: &serial,
		inputs: run.Inputs{Part: "sha256:p", Dirs: []string{"live"}, Outputs: map[string]string{"team/vpc": "sha256:" + strings.Repeat("1", 64)}},
		spec: &run.Spec{Workspace: "default", Variables: map[string]run.Variable{"size": {Value: json.RawMessage(`3`)},
			"password": {Value: json.RawMessage(`"s3cr3t-one"`), Secret: true}},
			Env: []run.EnvVar{{Name: "REGION", Value: "eu"}, {Name: "TOKEN", Value: "s3cr3t-token", Secret: true}}, Secrets: []string{"s3cr3t-setting"}},
		origins: map[string]string{"size": "ConfigMap team/settings, key size", "env REGION": "spec.env[0]"}}
	change(&k)
	return k
}

func TestInputChanges(t *testing.T) {
	value := func(name, text string) func(*known) {
		return func(k *known) { k.spec.Variables[name] = run.Variable{Value: json.RawMessage(text)} }
	}
	for sentence, test := range map[string]struct {
		change func(*known)
		want   []run.InputChange
	}{
		"nothing": {func(*known) {}, nil},
		"a commit that touches the stack": {func(k *known) {
			k.artifact = run.Artifact{Digest: "sha256:b", Revision: "main@sha1:bbb"}
			k.inputs.Part = "sha256:q"
		},
			[]run.InputChange{{Part: "source", From: "main@sha1:aaa", To: "main@sha1:bbb"}}},
		"a commit that does not touch the stack": {func(k *known) { k.artifact = run.Artifact{Digest: "sha256:b", Revision: "main@sha1:bbb"} },
			[]run.InputChange{{Part: "source", From: "main@sha1:aaa", To: "main@sha1:bbb", Untouched: true}}},
		"a value":                            {value("size", "4"), []run.InputChange{{Part: "variable", Name: "size", Origin: "ConfigMap team/settings, key size", From: "3", To: "4"}}},
		"the same value in another notation": {value("size", " 3"), nil},
		"an added value":                     {value("zone", `"a"`), []run.InputChange{{Part: "variable", Name: "zone", To: `"a"`}}},
		"a removed value":                    {func(k *known) { delete(k.spec.Variables, "size") }, []run.InputChange{{Part: "variable", Name: "size", Origin: "ConfigMap team/settings, key size", From: "3"}}},
		"a secret": {func(k *known) {
			k.spec.Variables["password"] = run.Variable{Value: json.RawMessage(`"s3cr3t-two"`), Secret: true}
		}, []run.InputChange{{Part: "variable", Name: "password", Secret: true}}},
		"a value that is no longer secret":        {value("password", `"open"`), []run.InputChange{{Part: "variable", Name: "password", Secret: true}}},
		"a value that contains a secret":          {value("size", `"user:s3cr3t-token@host"`), []run.InputChange{{Part: "variable", Name: "size", Origin: "ConfigMap team/settings, key size", From: "3", To: "(sensitive value)"}}},
		"a value that contains a backend setting": {value("size", `"s3cr3t-setting"`), []run.InputChange{{Part: "variable", Name: "size", Origin: "ConfigMap team/settings, key size", From: "3", To: "(sensitive value)"}}},
		"the environment": {func(k *known) {
			k.spec.Env = []run.EnvVar{{Name: "REGION", Value: "us"}, {Name: "TOKEN", Value: "s3cr3t-next", Secret: true}}
		},
			[]run.InputChange{{Part: "environment", Name: "REGION", Origin: "spec.env[0]", From: "eu", To: "us"}, {Part: "environment", Name: "TOKEN", Secret: true}}},
		"a file": {func(k *known) {
			k.spec.Files = []run.File{{Location: run.FileInHome, Path: "key", Content: []byte("s3cr3t")}}
		}, []run.InputChange{{Part: "file", Name: "home/key", Secret: true}}},
		"settings":          {func(k *known) { k.spec.Backend.Settings = map[string]string{"bucket": "b"} }, []run.InputChange{{Part: "backend", Name: "bucket", Secret: true}}},
		"the workspace":     {func(k *known) { k.spec.Workspace = "blue" }, []run.InputChange{{Part: "workspace", From: "default", To: "blue"}}},
		"destroy":           {func(k *known) { k.spec.Destroy = true }, []run.InputChange{{Part: "destroy", From: "false", To: "true"}}},
		"the tool":          {func(k *known) { k.tool = "tofu 1.12.1" }, []run.InputChange{{Part: "tool", From: "tofu 1.12.0", To: "tofu 1.12.1"}}},
		"the tool, unknown": {func(k *known) { k.tool = "" }, nil},
		"outputs": {func(k *known) { k.inputs.Outputs = map[string]string{"team/vpc": "sha256:" + strings.Repeat("2", 64)} },
			[]run.InputChange{{Part: "outputs", Name: "team/vpc", From: "sha256:111111111111", To: "sha256:222222222222"}}},
		"the state": {func(k *known) { next := uint64(6); k.serial = &next }, []run.InputChange{{Part: "state", From: "serial 4", To: "serial 6"}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			list := changedInputs(inputsThat(func(*known) {}), inputsThat(test.change))
			if diff := cmp.Diff(test.want, list); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text := fmt.Sprintf("%+v", list); strings.Contains(text, "s3cr3t") {
				t.Errorf("the text contains a secret: %s", text)
			}
		})
	}
}

// A secret counts in JSON's spelling, too.
func TestSecretsInValuesAreMasked(t *testing.T) {
	for sentence, secret := range map[string]string{
		"a key":           "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\n",
		"a quote":         `pass"word\x`,
		"signs of markup": "a<b>&c-pass",
		"other letters":   "pässwört",
	} {
		set := func(value any) func(*known) {
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			return func(k *known) {
				k.spec.Variables["values"], k.spec.Secrets = run.Variable{Value: text}, []string{secret}
			}
		}
		for place, value := range map[string]any{"a text": secret, "the middle of one": "x" + secret + "y", "deep inside": map[string]any{"a": []any{secret}}, "a name": map[string]any{secret: 1}} {
			list := changedInputs(inputsThat(set("before")), inputsThat(set(value)))
			if len(list) != 1 || list[0].From != `"before"` || list[0].To != "(sensitive value)" {
				t.Errorf("%s in %s: %+v", sentence, place, list)
			}
		}
	}
}

func TestLongValuesAreShortenedDistinguishably(t *testing.T) {
	openly := func(string) bool { return false }
	a, b := inShort(strings.Repeat("x", 100)+"a", openly), inShort(strings.Repeat("x", 100)+"b", openly)
	if a == b || len(a) > 120 || !strings.HasPrefix(a, strings.Repeat("x", maxShown)+"… (101 bytes, sha256:") {
		t.Errorf("%s, %s", a, b)
	}
}

func TestLastPlan(t *testing.T) {
	of := func(id string, outcome run.Outcome, plan bool) run.Record {
		rec := run.Record{Spec: run.Spec{ID: id}, Result: &run.Result{Outcome: outcome}}
		if plan {
			rec.Result.Plan = &run.PlanResult{}
		}
		return rec
	}
	records := []run.Record{{Spec: run.Spec{ID: "in hand"}}, of("failed", run.OutcomeFailed, true), of("nothing", run.OutcomeSucceeded, false), of("planned", run.OutcomeSucceeded, true)}
	if got := lastPlan(records); got == nil || got.Spec.ID != "planned" {
		t.Errorf("%+v", got)
	}
	if got := lastPlan(records[:3]); got != nil {
		t.Errorf("%+v", got)
	}
}

func TestReconciliationsAreRemembered(t *testing.T) {
	var book lookBook
	stack, name := run.Stack{Namespace: "team", Name: "vpc"}, types.NamespacedName{Namespace: "team", Name: "vpc"}
	at := func(minutes int) time.Time { return finished.Add(time.Duration(minutes) * time.Minute) }
	rests := decide.Decision{Verb: decide.VerbRest, Reason: decide.ReasonUpToDate}
	for i, d := range []decide.Decision{{Verb: decide.VerbPlan, Reason: decide.ReasonFirstPlan}, rests, rests} {
		book.note(stack, d, at(i))
	}
	want := &run.Looked{At: at(2), Since: at(1), Verb: "rest", Reason: decide.ReasonUpToDate}
	if diff := cmp.Diff(want, book.of(name)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if book.forget(name); book.of(name) != nil {
		t.Error("a deleted stack is remembered")
	}
}
