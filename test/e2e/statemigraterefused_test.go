// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/state/migration"
)

// TestTwoPeopleMigrateAtOnce: to two places. The second waits for the first, or is refused. In any case the
// state is at one place, whole.
func TestTwoPeopleMigrateAtOnce(t *testing.T) {
	t.Parallel()
	y, obj, e := migrating(t)
	source, other := y.state(t, obj), newElsewhere(t)
	e.hold(http.MethodPost, 1, false)
	first := y.begin(t, e.migrate(obj)...)
	e.until(t, first)
	second := y.begin(t, other.migrate(obj)...)
	close(e.open)
	said := map[string]string{"the first": <-first, "the second": <-second}
	seen := y.await(t, obj, "it rests", func(o *infrav1.Terraform) bool { return settled(o) && o.Status.CurrentRun == nil })
	for who, text := range said {
		t.Logf("%s is told: %s", who, text)
		if strings.Contains(text, statesPassword) {
			t.Errorf("%s sees the password", who)
		}
	}
	// Whoever was last, one copy is the stack's.
	at := e
	if seen.Status.Backend != nil && strings.Contains(seen.Status.Backend.Location, other.front.URL) {
		at = other
	}
	y.do(t, at.migrate(obj)...)
	y.await(t, obj, "it is ready at one of the two", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.Backend != nil && strings.Contains(o.Status.Backend.Location, at.front.URL)
	})
	if proof, err := migration.Prove(source, []byte(at.State(obj.Name))); err != nil || proof.Resources != 2 {
		t.Errorf("%+v %v", proof, err)
	}
	y.do(t, "replan", name(obj), "--wait")
	if seen = y.await(t, obj, "nothing changes", ready); seen.Status.Plan.Summary != "+0 ~0 -0" {
		t.Errorf("the plan is %s", seen.Status.Plan.Summary)
	}
}

// TestAForeignStateAtTheDestination: it has another lineage, and stays as it is.
func TestAForeignStateAtTheDestination(t *testing.T) {
	t.Parallel()
	y, obj, e := migrating(t)
	source := string(y.state(t, obj))
	foreign := strings.Replace(source, `"lineage": "`, `"lineage": "f`, 1)
	foreign = strings.Replace(foreign, `"name": "two"`, `"name": "three"`, 1)
	if foreign == source {
		t.Fatal("the state is not indented any more")
	}
	e.put(t, obj.Name, foreign)
	_, news, code := y.run(t, e.migrate(obj)...)
	if code == 0 || !strings.Contains(news, "another lineage") {
		t.Errorf("it ended with %d: %s", code, news)
	}
	stays(t, y, obj)
	if e.State(obj.Name) != foreign || string(y.state(t, obj)) != source {
		t.Error("a state has changed")
	}
}

// put writes a state, as its owner does.
func (e *elsewhere) put(t *testing.T, path, content string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.URL()+"/"+path, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("yuba", statesPassword)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %v", resp.Status, err)
	}
}

// TestAnEncryptedStateIsMigrated: OpenTofu encrypts it on both sides, and only the program knows the phrase.
// A refactoring, which would need its content in the server, is refused.
func TestAnEncryptedStateIsMigrated(t *testing.T) {
	t.Parallel()
	y, e := alone(t), newElsewhere(t)
	ns := y.namespace(t)
	y.create(t, secretOf(ns, "states", map[string]string{"username": "yuba", "password": statesPassword}))
	y.create(t, secretOf(ns, "phrase", map[string]string{"config": encryption(`"` + passphrase + `"`)}))
	obj := inline(ns, "sealed", migrated, auto, func(o *infrav1.Terraform) {
		o.Spec.Env = []corev1.EnvVar{fromSecret("TF_ENCRYPTION", "phrase", "config")}
	})
	y.create(t, obj)
	y.await(t, obj, "it is applied", ready)
	opaque(t, y.state(t, obj))
	y.do(t, e.migrate(obj)...)
	y.await(t, obj, "it is ready at the destination", func(o *infrav1.Terraform) bool { return ready(o) && at(o) == "http" })
	opaque(t, []byte(e.State(obj.Name)))
	y.do(t, "state", "migrate", name(obj), "--yes", "--to", "yuba")
	y.await(t, obj, "it is back", func(o *infrav1.Terraform) bool { return ready(o) && at(o) == "yuba" })
	opaque(t, y.state(t, obj))
	y.do(t, "replan", name(obj), "--wait")
	if seen := y.await(t, obj, "nothing changes", ready); seen.Status.Plan.Summary != "+0 ~0 -0" {
		t.Errorf("the plan is %s", seen.Status.Plan.Summary)
	}
	f := file(t, "move {\n  stack = \"sealed\"\n  from = terraform_data.one\n  to = terraform_data.uno\n}\n")
	if _, news, code := y.run(t, "refactor", f, "-n", ns); code == 0 || !strings.Contains(news, "OpenTofu encrypted its state") {
		t.Errorf("a refactoring ended with %d: %s", code, news)
	}
}
