// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/statetest"
	"github.com/yuba-dev/yuba/internal/tofu/state/migration"
)

// elsewhere keeps states for the http backend, and can hold one request.
type elsewhere struct {
	*statetest.Server
	front         *httptest.Server
	reached, open chan struct{}

	mu     sync.Mutex
	method string // that is held, once
	nth    int
	done   bool // the request is held when it has been carried out
}

const statesPassword = "s3sam3-0f-the-states"

func newElsewhere(t *testing.T) *elsewhere {
	e := &elsewhere{Server: statetest.New(t, "yuba", statesPassword)}
	e.front = httptest.NewServer(e)
	t.Cleanup(e.front.Close)
	return e
}

// hold lets the nth request with the method wait until release, before or after it is carried out.
func (e *elsewhere) hold(method string, nth int, done bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.method, e.nth, e.done = method, nth, done
	e.reached, e.open = make(chan struct{}), make(chan struct{})
}

func (e *elsewhere) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	held := false
	if r.Method == e.method {
		e.nth--
		held = e.nth == 0
	}
	reached, open, done := e.reached, e.open, e.done
	e.mu.Unlock()
	if !held {
		e.Server.ServeHTTP(w, r)
		return
	}
	if !done {
		close(reached)
		<-open
		e.Server.ServeHTTP(w, r)
		return
	}
	e.Server.ServeHTTP(w, r)
	close(reached)
	<-open // its response is sent afterwards
}

// migrate is the command that moves a stack's state there.
func (e *elsewhere) migrate(obj *infrav1.Terraform, more ...string) []string {
	url := e.front.URL + "/" + obj.Name
	return append([]string{"state", "migrate", name(obj), "--yes", "--to", "http", "--set", "address=" + url, "--set", "lock_address=" + url,
		"--set", "unlock_address=" + url, "--settings-from", "Secret/states"}, more...)
}

// into changes the spec as the command does.
func (e *elsewhere) into(obj *infrav1.Terraform) {
	url := e.front.URL + "/" + obj.Name
	obj.Spec.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: "backend \"http\" {\n  address        = \"" + url + "\"\n  lock_address   = \"" + url +
		"\"\n  unlock_address = \"" + url + "\"\n}\n"}
	obj.Spec.BackendConfigsFrom = []infrav1.BackendConfigsReference{{Kind: "Secret", Name: "states"}}
}

const migrated = `
resource "terraform_data" "one" { input = "one" }
resource "terraform_data" "two" { input = "two" }
output "id" { value = terraform_data.one.id }
`

// migrating starts a Yuba with a stack, and a place for its state.
func migrating(t *testing.T) (*yuba, *infrav1.Terraform, *elsewhere) {
	t.Helper()
	y, e := alone(t), newElsewhere(t)
	ns := y.namespace(t)
	y.create(t, secretOf(ns, "states", map[string]string{"username": "yuba", "password": statesPassword}))
	return y, y.applied(t, ns, "moved", migrated), e
}

// begin runs a command in the background. The channel gets what it printed.
func (y *yuba) begin(t *testing.T, args ...string) <-chan string {
	ended := make(chan string, 1)
	go func() {
		out, news, _ := y.run(t, args...)
		ended <- out + news
	}()
	return ended
}

// until waits until a request is held. A command that ends before would let it wait for ever.
func (e *elsewhere) until(t *testing.T, ended <-chan string) {
	t.Helper()
	select {
	case <-e.reached:
	case said := <-ended:
		t.Fatalf("the command ended before the request that the test waits for: %s", said)
	case <-time.After(patience):
		t.Fatalf("no request came that the test could hold within %s", patience)
	}
}

// continues repeats the migration until the stack is at the destination, and proves that nothing was lost
// or created twice.
func continues(t *testing.T, y *yuba, obj *infrav1.Terraform, e *elsewhere, source []byte, more ...string) {
	t.Helper()
	y.do(t, e.migrate(obj, more...)...)
	seen := y.await(t, obj, "it is ready at the destination", func(o *infrav1.Terraform) bool { return ready(o) && at(o) == "http" })
	proof, err := migration.Prove(source, []byte(e.State(obj.Name)))
	if err != nil || proof.Resources != 2 || proof.Outputs != 1 {
		t.Errorf("%+v %v\n%s", proof, err, e.State(obj.Name))
	}
	if seen.Status.Plan.Pending != "" {
		t.Errorf("a plan is pending: %+v", seen.Status.Plan)
	}
	if out, _ := y.do(t, "state", "migrate", name(obj)); !strings.Contains(out, "already") {
		t.Errorf("one more repetition says: %s", out)
	}
	y.do(t, "replan", name(obj), "--wait")
	if seen = y.await(t, obj, "nothing changes", ready); seen.Status.Plan.Summary != "+0 ~0 -0" {
		t.Errorf("after the migration, the plan is %s", seen.Status.Plan.Summary)
	}
	if _, err := migration.Prove(source, []byte(e.State(obj.Name))); err != nil {
		t.Errorf("the state has changed after the migration: %v", err)
	}
	unlocked(t, y, obj)
}

// at is the type of the backend where the stack has its state.
func at(o *infrav1.Terraform) string {
	if o.Status.Backend == nil {
		return "yuba"
	}
	kind, _, _ := strings.Cut(o.Status.Backend.Location, " ")
	return kind
}

// stays waits for a stack whose migration did not end well: it is at its former backend, and waits.
func stays(t *testing.T, y *yuba, obj *infrav1.Terraform) {
	t.Helper()
	seen := y.await(t, obj, "it waits", failedWith(infrav1.ReasonBackendChanged))
	if at(seen) != "yuba" || !strings.Contains(condition(seen, infrav1.ConditionReady).Message, "yuba state migrate "+obj.Name) {
		t.Errorf("the state is at %s: %s", at(seen), condition(seen, infrav1.ConditionReady).Message)
	}
}

// TestServerKilledDuringAMigration: the runner completes it, and the command can be repeated.
func TestServerKilledDuringAMigration(t *testing.T) {
	t.Parallel()
	y, obj, e := migrating(t)
	source := y.state(t, obj)
	e.hold(http.MethodPost, 1, false)
	ended := y.begin(t, e.migrate(obj)...)
	e.until(t, ended)
	y.kill()
	close(e.open)
	y.restart(t)
	y.await(t, obj, "the runner has completed it", func(o *infrav1.Terraform) bool { return settled(o) && at(o) == "http" })
	t.Logf("the command said: %s", <-ended)
	continues(t, y, obj, e, source)
}

// TestRunnerKilledDuringAMigration: tofu's end is not known, so that the stack stays where it was.
func TestRunnerKilledDuringAMigration(t *testing.T) {
	t.Parallel()
	for what, done := range map[string]bool{"before the state is written": false, "after it is written": true} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			y, obj, e := migrating(t)
			source := y.state(t, obj)
			e.hold(http.MethodPost, 1, done)
			ended := y.begin(t, e.migrate(obj)...)
			e.until(t, ended)
			if err := syscall.Kill(y.runnerPID(t), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			close(e.open)
			if said := <-ended; !strings.Contains(said, "yuba state migrate") || strings.Contains(said, statesPassword) {
				t.Errorf("the command does not say how to continue: %s", said)
			}
			stays(t, y, obj)
			if string(y.state(t, obj)) != string(source) {
				t.Error("the source has changed")
			}
			continues(t, y, obj, e, source)
		})
	}
}

// TestEverythingKilledDuringAMigration leaves tofu's lock at the destination.
func TestEverythingKilledDuringAMigration(t *testing.T) {
	t.Parallel()
	y, obj, e := migrating(t)
	source := y.state(t, obj)
	e.hold(http.MethodPost, 1, true)
	ended := y.begin(t, e.migrate(obj)...)
	e.until(t, ended)
	y.kill()
	for _, pid := range y.processes("") {
		syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // it may be gone already
	}
	close(e.open)
	y.restart(t)
	if said := <-ended; !strings.Contains(said, "yuba state migrate") || strings.Contains(said, statesPassword) {
		t.Errorf("the command does not say how to continue: %s", said)
	}
	stays(t, y, obj)
	if string(y.state(t, obj)) != string(source) {
		t.Error("the source has changed")
	}
	_, news, code := y.run(t, e.migrate(obj)...)
	_, lock, found := strings.Cut(news, "--break-lock ")
	if code == 0 || !found {
		t.Fatalf("the lock of the killed process is not named: %d %s", code, news)
	}
	stays(t, y, obj)
	continues(t, y, obj, e, source, "--break-lock", strings.Fields(lock)[0])
}

// TestRunnerKilledOnTheWayBack: the state in Yuba's store is not the stack's until the migration is complete.
func TestRunnerKilledOnTheWayBack(t *testing.T) {
	t.Parallel()
	y, obj, e := migrating(t)
	y.do(t, e.migrate(obj)...)
	y.await(t, obj, "it is at the server", func(o *infrav1.Terraform) bool { return ready(o) && at(o) == "http" })
	there := []byte(e.State(obj.Name))
	e.hold("LOCK", 2, true) // the last look at the source: the copy is complete
	ended := y.begin(t, "state", "migrate", name(obj), "--yes", "--to", "yuba")
	e.until(t, ended)
	if err := syscall.Kill(y.runnerPID(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	close(e.open)
	<-ended
	seen := y.await(t, obj, "it waits", failedWith(infrav1.ReasonBackendChanged))
	if at(seen) != "http" || e.State(obj.Name) != string(there) {
		t.Errorf("the state is at %s\n%s", at(seen), e.State(obj.Name))
	}
	y.do(t, "state", "migrate", name(obj), "--yes")
	y.await(t, obj, "it is ready in Yuba's store", func(o *infrav1.Terraform) bool { return ready(o) && at(o) == "yuba" })
	if proof, err := migration.Prove(there, y.state(t, obj)); err != nil || proof.Resources != 2 {
		t.Errorf("%+v %v", proof, err)
	}
	unlocked(t, y, obj)
}

// TestAChangedBackendStopsTheStack: without the guard, tofu would find no state and create everything again.
func TestAChangedBackendStopsTheStack(t *testing.T) {
	t.Parallel()
	y, obj, e := migrating(t)
	source := y.state(t, obj)
	change(t, y, obj, func(o *infrav1.Terraform) {
		e.into(o)
		o.Spec.Inline["more.tf"] = `resource "terraform_data" "three" { input = "three" }`
	})
	stays(t, y, obj)
	_, news, code := y.run(t, "replan", name(obj), "--wait", "--timeout", "30s")
	if code == 0 {
		t.Errorf("it was planned: %s", news)
	}
	stays(t, y, obj)
	y.do(t, "state", "migrate", name(obj), "--dry-run")
	if e.State(obj.Name) != "" || string(y.state(t, obj)) != string(source) {
		t.Errorf("a state was written: %s", e.State(obj.Name))
	}
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.BackendConfig, o.Spec.BackendConfigsFrom = nil, nil })
	y.await(t, obj, "it continues with its state", ready)
	if n := y.resources(t, obj); n != 3 {
		t.Errorf("%d resources are in the state, want 3", n)
	}
	change(t, y, obj, e.into)
	stays(t, y, obj)
	y.do(t, "state", "migrate", name(obj), "--yes")
	y.await(t, obj, "it is ready at the new backend", func(o *infrav1.Terraform) bool { return ready(o) && at(o) == "http" })
	if proof, err := migration.Prove(y.state(t, obj), []byte(e.State(obj.Name))); err != nil || proof.Resources != 3 {
		t.Errorf("%+v %v", proof, err)
	}
	runs, err := y.content(t).Runs(t.Context(), obj.Namespace, obj.Name, 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs.Items {
		if r.Result != nil && r.Result.Outcome != run.OutcomeSucceeded {
			t.Errorf("run %s ended with %s: %s", r.Spec.ID, r.Result.Outcome, r.Result.Error)
		}
	}
}
