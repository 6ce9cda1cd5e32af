// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/statetest"
	"github.com/yuba-dev/yuba/internal/tofu/state/migration"
)

const (
	migrateNamespace = "migrated"
	statesPassword   = "s3sam3-0f-the-states"
)

// mover moves a stack's state to and fro between Yuba's store and a server for the http backend.
type mover struct {
	*yuba
	content *content.Client
	there   *statetest.Server
	front   *httptest.Server
	obj     *infrav1.Terraform
	// left is how many requests the server there answers until hit is closed; nil if nobody waits.
	mu   sync.Mutex
	left int
	hit  chan struct{}
}

// ServeHTTP counts the requests for states.
func (m *mover) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.there.ServeHTTP(w, r)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left--; m.left == 0 && m.hit != nil {
		close(m.hit)
		m.hit = nil
	}
}

// after is closed once the server has answered some requests: the answer to the last one is on its way.
func (m *mover) after(requests int) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	hit := make(chan struct{})
	m.left, m.hit = requests, hit
	return hit
}

// TestKillsDuringAMigration: a state moves to and fro between two backends, and after some random request
// each time the server is killed, or all processes are. Repeated, the migration always completes. Nothing is
// lost, and nothing is created a second time.
func TestKillsDuringAMigration(t *testing.T) {
	rng := rand.New(rand.NewPCG(newSeed(t), 26))
	y := newYuba(t)
	y.up()
	y.newNamespace(migrateNamespace)
	c, err := content.NewClient(y.config())
	if err != nil {
		t.Fatal(err)
	}
	m := &mover{yuba: y, content: c, there: statetest.New(t, "yuba", statesPassword)}
	m.front = httptest.NewServer(m)
	t.Cleanup(m.front.Close)
	m.create(t)
	before := m.state(t, false)
	interrupted, breaks := 0, 0
	for i := range max(*killsFlag/2, 4) {
		away := i%2 == 0
		m.setBackend(t, away)
		hit, all := m.after(1+rng.IntN(7)), rng.IntN(2) == 0
		ended := make(chan bool, 1)
		go func() { ended <- m.migrate(t, "") == "" }()
		select {
		case <-hit:
			time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
		case <-time.After(patience):
			t.Fatalf("the migration does not reach its backend; see %s", y.base)
		}
		began := time.Now()
		y.signalServer(syscall.SIGKILL)
		if all {
			for _, p := range y.processes() {
				if p.PID != y.serverPID() || p.Program != "yuba" {
					syscall.Kill(p.PID, syscall.SIGKILL) //nolint:errcheck // it may be gone already
				}
			}
		}
		if !<-ended {
			interrupted++
		}
		breaks += m.complete(t, away)
		after := m.state(t, away)
		if _, err := migration.Prove(before, after); err != nil {
			t.Fatalf("round %d: the state has changed: %v; see %s", i, err, y.base)
		}
		before = after
		t.Logf("round %d: all processes %t, %v until it was complete", i, all, time.Since(began).Round(time.Millisecond))
	}
	t.Logf("%d of the requests were interrupted, and %d locks had to be broken", interrupted, breaks)
	if interrupted == 0 {
		t.Error("no kill hit a migration")
	}
}

// create applies a stack with two resources.
func (m *mover) create(t *testing.T) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: migrateNamespace, Name: "states"}, StringData: map[string]string{"username": "yuba", "password": statesPassword}}
	if err := m.client().Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	m.obj = &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: migrateNamespace, Name: "moved"},
		Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: time.Hour}, ApprovePlan: "auto", Inline: map[string]string{
			"main.tf": "resource \"terraform_data\" \"one\" { input = \"one\" }\nresource \"terraform_data\" \"two\" { input = \"two\" }\noutput \"id\" { value = terraform_data.one.id }\n"}}}
	if err := m.client().Create(t.Context(), m.obj); err != nil {
		t.Fatal(err)
	}
	m.until(t, "it is applied", func(o *infrav1.Terraform) bool { return m.ready(o) && o.Status.LastAppliedRun != "" })
}

func (m *mover) ready(o *infrav1.Terraform) bool {
	for _, c := range o.Status.Conditions {
		if c.Type == infrav1.ConditionReady {
			return c.Status == metav1.ConditionTrue && o.Status.ObservedGeneration == o.Generation && o.Status.CurrentRun == nil
		}
	}
	return false
}

// at reports whether the state is where it should be.
func (m *mover) at(o *infrav1.Terraform, away bool) bool {
	is := o.Status.Backend != nil && strings.HasPrefix(o.Status.Backend.Location, "http ")
	return is == away
}

func (m *mover) until(t *testing.T, what string, is func(*infrav1.Terraform) bool) {
	t.Helper()
	var last infrav1.Terraform
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		m.awaitReady()
		if err := m.client().Get(t.Context(), client.ObjectKeyFromObject(m.obj), &last); err == nil && is(&last) {
			return
		}
	}
	text, _ := json.Marshal(last.Status) //nolint:errchkjson // for a message
	t.Fatalf("after %s it is not true that %s: %s; see %s", patience, what, text, m.base)
}

// setBackend lets the spec name the other backend.
func (m *mover) setBackend(t *testing.T, away bool) {
	t.Helper()
	url := m.front.URL + "/moved"
	var o infrav1.Terraform
	if err := m.client().Get(t.Context(), client.ObjectKeyFromObject(m.obj), &o); err != nil {
		t.Fatal(err)
	}
	o.Spec.BackendConfig, o.Spec.BackendConfigsFrom = nil, nil
	if away {
		o.Spec.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: "backend \"http\" {\n  address        = \"" + url + "\"\n  lock_address   = \"" + url + "\"\n  unlock_address = \"" + url + "\"\n}\n"}
		o.Spec.BackendConfigsFrom = []infrav1.BackendConfigsReference{{Kind: "Secret", Name: "states"}}
	}
	if err := m.client().Update(t.Context(), &o); err != nil {
		t.Fatal(err)
	}
}

// migrate starts a migration and waits for its end. It returns why it did not succeed.
func (m *mover) migrate(t *testing.T, lock string) string {
	rec, err := m.content.Change(t.Context(), migrateNamespace, "moved", run.StateChange{Verb: run.StateMigrate, BreakLock: lock}, "")
	for deadline := time.Now().Add(patience); err == nil && rec.Result == nil && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		rec, err = m.content.Run(t.Context(), migrateNamespace, "moved", rec.Spec.ID)
	}
	switch {
	case err != nil:
		return err.Error()
	case rec.Result == nil:
		return "it does not end"
	case rec.Result.Outcome == run.OutcomeSucceeded:
		return ""
	}
	return rec.Result.Error
}

// complete repeats the migration until the stack is ready at its new backend. A killed tofu leaves its lock
// there, whose id the error names. It returns how many had to be broken.
func (m *mover) complete(t *testing.T, away bool) (breaks int) {
	t.Helper()
	lock, problem := "", ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		m.awaitReady()
		var o infrav1.Terraform
		if err := m.client().Get(t.Context(), client.ObjectKeyFromObject(m.obj), &o); err != nil || o.Status.CurrentRun != nil {
			continue
		}
		if m.at(&o, away) && m.ready(&o) {
			return breaks
		}
		if problem = m.migrate(t, lock); problem == "" {
			m.until(t, "it is ready at its new backend", func(o *infrav1.Terraform) bool { return m.at(o, away) && m.ready(o) })
			return breaks
		}
		if lock = ""; strings.Contains(problem, "--break-lock ") {
			_, rest, _ := strings.Cut(problem, "--break-lock ")
			lock = strings.Fields(rest)[0]
			breaks++
		}
	}
	t.Fatalf("the migration does not complete: %s; see %s", problem, m.base)
	return breaks
}

// state is the state at a backend.
func (m *mover) state(t *testing.T, away bool) []byte {
	t.Helper()
	if away {
		return []byte(m.there.State("moved"))
	}
	var data []byte
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var err error
		if data, err = m.content.State(t.Context(), migrateNamespace, "moved", ""); err == nil {
			return data
		}
	}
	t.Fatalf("the state cannot be read; see %s", m.base)
	return nil
}
