// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/move/steps"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

// errKilled ends a move like a kill.
var errKilled = errors.New("killed")

// killer ends a move at its nth write: before the request is sent, or when its response is lost. All
// requests after that fail, too.
type killer struct {
	at, writes atomic.Int64
	lost       bool
}

func (k *killer) wrap(next http.RoundTripper) http.RoundTripper { return killed{k, next} }

type killed struct {
	*killer
	next http.RoundTripper
}

func (k killed) RoundTrip(r *http.Request) (*http.Response, error) {
	n := k.writes.Load()
	if r.Method != http.MethodGet {
		n = k.writes.Add(1)
	}
	if at := k.at.Load(); at > 0 && (n > at || n == at && !k.lost) {
		return nil, errKilled
	}
	response, err := k.next.RoundTrip(r)
	if err == nil && r.Method != http.MethodGet && n == k.at.Load() {
		response.Body.Close() //nolint:errcheck // nobody reads it
		return nil, errKilled
	}
	return response, err
}

// mover moves a namespace in this process.
func (m movers) mover(t *testing.T, k *killer, namespaces ...string) (*steps.Mover, error) {
	t.Helper()
	var sides []*steps.Side
	for _, y := range []*yuba{m.a, m.b} {
		config, err := kubetest.Config(y.kubeconfig())
		if err != nil {
			t.Fatal(err)
		}
		config = rest.CopyConfig(config)
		config.Wrap(k.wrap)
		side, err := steps.Connect(t.Context(), filepath.Base(filepath.Dir(y.kubeconfig())), config)
		if err != nil {
			return nil, err
		}
		sides = append(sides, side)
	}
	return &steps.Mover{From: sides[0], To: sides[1], Namespaces: namespaces, Quiet: patience, Settle: patience, News: t.Logf,
		Confirm: func(steps.Report) error { return nil }}, nil
}

// small creates a namespace with a stack that is applied, one that has a pending plan, and an archive.
func (m movers) small(t *testing.T, ns string) (id string, runs []string) {
	t.Helper()
	m.a.create(t, namespaceObject(ns))
	m.a.push(t, ns, "code", map[string]string{"main.tf": greeting})
	base := pushed(ns, "base", "code", variable("name", "world"), auto, outputsTo("base-out"), destroying)
	pending := inline(ns, "pending", greeting, variable("name", "x"))
	m.a.create(t, base, pending)
	m.a.await(t, base, "it is ready", ready)
	m.a.await(t, pending, "it waits", waiting)
	return firstID(t, m.a.state(t, base)), m.a.runIDs(t, ns, "base")
}

// A move is killed at each of its writes, or at every fifth, before and after the other side has got it. At no time
// do both homes work on a stack, and the same move continues and ends as if nothing had happened.
func TestMoveThatIsKilledAnywhereContinues(t *testing.T) {
	t.Parallel() // it takes long, and hardly any processor
	stride := int64(5)
	if *exhaustively {
		stride = 1
	}
	m := newMovers(t)
	there := m.killedAnywhere(t, "killed", stride, func(*testing.T, string) movers { return m })
	// The way back has the same steps.
	back := m.killedAnywhere(t, "back", 2*stride, func(t *testing.T, ns string) movers {
		move(t, m.a, m.b, "-n", ns)
		return movers{a: m.b, b: m.a}
	})
	t.Logf("a move has %d writes, and %d on the way back", there, back)
}

// killedAnywhere kills moves of new namespaces, each a stride of writes later, until one is complete.
// It returns how many writes that had.
func (m movers) killedAnywhere(t *testing.T, prefix string, stride int64, prepare func(t *testing.T, ns string) movers) (most int64) {
	t.Helper()
	first := 1 + rand.Int64N(stride)
	t.Logf("of %d writes each, a move is killed at number %d", stride, first)
	for at := first; most == 0; at += stride {
		ns := fmt.Sprintf("%s-%d", prefix, at)
		id, runs := m.small(t, ns)
		m := prepare(t, ns)
		k := &killer{lost: (at-first)/stride%2 == 0} // the next one has the other case
		k.at.Store(at)
		mover, err := m.mover(t, k, ns)
		if err != nil {
			t.Fatal(err)
		}
		_, err = mover.Run(t.Context())
		if err == nil {
			most = k.writes.Load()
			if at < 15 {
				t.Fatalf("the move had only %d writes", most)
			}
		} else if !errors.Is(err, errKilled) {
			t.Fatalf("killed at write %d: %v", k.at.Load(), err)
		}
		m.onlyOneWorks(t, ns, k.at.Load())
		m.expireClaims(t, ns)
		mover, err = m.mover(t, &killer{}, ns)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mover.Run(t.Context()); err != nil {
			t.Fatalf("killed at write %d, and then: %v", k.at.Load(), err)
		}
		m.arrived(t, ns, id, runs, fmt.Sprintf("killed at write %d (lost: %v)", k.at.Load(), k.lost))
		if t.Failed() {
			t.FailNow()
		}
	}
	return most
}

// A home whose API is a cluster's, with "yuba controller", is a target like any other.
func TestNamespaceMovesToTheHomeOfAController(t *testing.T) {
	y := startLegacy(t, "unrelated")
	y.control(t)
	m := movers{a: alone(t), b: y}
	const ns = "team"
	id, runs := m.small(t, ns)
	summary := move(t, m.a, m.b, "-n", ns)
	want := map[string]string{"base": steps.PassUnchanged, "pending": steps.PassPending}
	if diff := cmp.Diff(want, firstPasses(summary)); diff != "" {
		t.Fatalf("first passes (-want +got):\n%s\n%+v", diff, summary.Stacks)
	}
	m.arrived(t, ns, id, runs, "at the controller")
	pending := m.b.stack(t, ns, "pending")
	approve(t, m.b, pending)
	m.b.await(t, pending, "the plan is applied", ready)
	summary = move(t, m.b, m.a, "-n", ns)
	want["pending"] = steps.PassUnchanged
	if diff := cmp.Diff(want, firstPasses(summary)); diff != "" {
		t.Fatalf("first passes at home (-want +got):\n%s\n%+v", diff, summary.Stacks)
	}
}

// onlyOneWorks checks that no stack is free at both homes.
func (m movers) onlyOneWorks(t *testing.T, ns string, at int64) {
	t.Helper()
	free := func(y *yuba) map[string]bool {
		var list infrav1.TerraformList
		if err := y.client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for i := range list.Items {
			if s := &list.Items[i]; !s.Spec.Suspend && moving.Held(s) == "" {
				names[s.Name] = true
			}
		}
		return names
	}
	here, there := free(m.a), free(m.b)
	for name := range here {
		if there[name] {
			t.Errorf("killed at write %d: %s works at both homes", at, name)
		}
	}
}

// arrived checks that everything works at B as it did at A.
func (m movers) arrived(t *testing.T, ns, id string, runs []string, when string) {
	t.Helper()
	base := m.b.await(t, stack(ns, "base"), when+": base is ready", ready)
	if got := firstID(t, m.b.state(t, base)); got != id {
		t.Errorf("%s: it was created again: %s, it was %s", when, got, id)
	}
	if diff := cmp.Diff(runs, m.b.runIDs(t, ns, "base")); diff != "" {
		t.Errorf("%s: runs (-want +got):\n%s", when, diff)
	}
	pending := m.b.await(t, stack(ns, "pending"), when+": the plan waits", waiting)
	if diff := cmp.Diff(m.a.stack(t, ns, "pending").Status.Plan, pending.Status.Plan); diff != "" {
		t.Errorf("%s: the plan has changed (-was +is):\n%s", when, diff)
	}
	for _, name := range []string{"base", "pending"} {
		copied := m.a.stack(t, ns, name)
		if mark, ok := moving.MovedTo(copied); !ok || !copied.Spec.Suspend || mark.Move == "" {
			t.Errorf("%s: the copy of %s is not marked and suspended", when, name)
		}
	}
	if string(m.b.secret(t, ns, "base-out")["greeting"]) != "hello world" {
		t.Errorf("%s: the outputs are missing", when)
	}
	m.b.ownedHere(t, ns)
}

// The program itself is killed, too, when it says that it has done a step.
func TestKilledProgramContinues(t *testing.T) {
	m := newMovers(t)
	for i, line := range []string{"Suspended ", "Copied ", "Copied the history", "Compared ", "Resumed "} {
		ns := fmt.Sprintf("program-%d", i)
		id, runs := m.small(t, ns)
		m.killWhen(t, ns, line)
		m.onlyOneWorks(t, ns, int64(i))
		if i > 0 { // the first one waits until it has expired
			m.expireClaims(t, ns)
		}
		m.a.do(t, "move", "--from", m.a.dir, "--to", m.b.kubeconfig(), "-n", ns, "--yes")
		m.arrived(t, ns, id, runs, "killed after "+line)
	}
}

// killWhen kills "yuba move" when it prints a line.
func (m movers) killWhen(t *testing.T, ns, line string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "yuba"), "move", "--from", m.a.dir, "--to", m.b.kubeconfig(), "-n", ns, "--yes")
	news, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(news); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), line) {
			break
		}
	}
	cmd.Process.Kill() //nolint:errcheck // it may be gone already
	cmd.Wait()         //nolint:errcheck // killed, of course
}

// A canceled move leaves the source as it was, and the copies at the target run nothing. The move can
// be made later.
func TestCanceledMoveLeavesEverythingAsItWas(t *testing.T) {
	m := newMovers(t)
	const ns = "canceled"
	id, runs := m.small(t, ns)
	m.killWhen(t, ns, "Copied the history")
	out, news := m.a.do(t, "move", "--from", m.a.dir, "--to", m.b.kubeconfig(), "-n", ns, "--cancel")
	if !strings.Contains(news, "as they were before") {
		t.Errorf("canceling says: %s%s", out, news)
	}
	base := m.a.stack(t, ns, "base")
	if base.Spec.Suspend || !base.Spec.DestroyResourcesOnDeletion || len(base.Annotations) > 0 {
		t.Errorf("it is not as it was: %+v %v", base.Spec, base.Annotations)
	}
	change(t, m.a, base, func(o *infrav1.Terraform) { o.Spec.Vars[0].Value.Raw = []byte(`"again"`) })
	m.a.await(t, base, "it works", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.StateSerial != nil && *o.Status.StateSerial == 2
	})
	copied := m.b.stack(t, ns, "base")
	change(t, m.b, copied, func(o *infrav1.Terraform) { o.Spec.Suspend = false })
	m.b.await(t, copied, "the copy runs nothing", failedWith(infrav1.ReasonMoved))
	if got := m.b.runIDs(t, ns, "base"); len(got) > len(runs) {
		t.Errorf("the copy ran: %v", got)
	}
	if _, news, code := m.a.run(t, "move", "--from", m.b.dir, "--to", m.a.kubeconfig(), "-n", ns, "--cancel"); code == 0 || !strings.Contains(news, "none is in progress") {
		t.Errorf("canceling nothing: %d %s", code, news)
	}
	move(t, m.a, m.b, "-n", ns)
	seen := m.b.await(t, copied, "it works there", ready)
	if got := firstID(t, m.b.state(t, copied)); got != id || *seen.Status.StateSerial != 2 {
		t.Errorf("its state is %s with serial %d, want %s with 2", got, *seen.Status.StateSerial, id)
	}
	if _, news, code := m.a.run(t, "move", "--from", m.a.dir, "--to", m.b.kubeconfig(), "-n", ns, "--cancel"); code == 0 {
		t.Errorf("a complete move was canceled: %s", news)
	}
}

// A run in progress at the source ends before anything moves.
func TestMoveWaitsForRuns(t *testing.T) {
	m := newMovers(t)
	const ns = "busy"
	m.a.create(t, namespaceObject(ns))
	// It has no state until its only resource is complete.
	busy := inline(ns, "busy", `
resource "terraform_data" "gate" {
  input = "gate"
  provisioner "local-exec" {
    command = "touch $HOME/reached; until [ -e $HOME/open ]; do sleep 0.05; done"
  }
}
output "gate" { value = terraform_data.gate.output }
`, auto, outputsTo("busy-out"))
	m.a.create(t, busy)
	reached, open := m.a.gate(busy)
	awaitFile(t, reached)
	_, news, code := m.a.run(t, "move", "--from", m.a.dir, "--to", m.b.kubeconfig(), "-n", ns, "--yes", "--timeout", "1s")
	if code == 0 || !strings.Contains(news, "still busy") || !strings.Contains(news, ns+"/busy") {
		t.Fatalf("a busy stack: %d\n%s", code, news)
	}
	if err := m.b.client.Get(t.Context(), client.ObjectKeyFromObject(busy), &infrav1.Terraform{}); err == nil {
		t.Error("it is at the target already")
	}
	go func() {
		time.Sleep(2 * time.Second) // the move has planned, and waits
		touch(t, open)
	}()
	summary := move(t, m.a, m.b, "-n", ns)
	if diff := cmp.Diff(map[string]string{"busy": steps.PassUnchanged}, firstPasses(summary)); diff != "" {
		t.Errorf("first passes (-want +got):\n%s\n%+v", diff, summary.Stacks)
	}
	if got := firstID(t, m.b.state(t, busy)); got != firstID(t, m.a.state(t, busy)) {
		t.Errorf("its state is another: %s", got)
	}
	seen := m.b.await(t, busy, "it was applied completely", ready)
	if c := condition(seen, infrav1.ConditionApply); c.Status != metav1.ConditionTrue {
		t.Errorf("the apply: %+v", c)
	}
	if diff := cmp.Diff(m.a.runIDs(t, ns, "busy"), m.b.runIDs(t, ns, "busy")); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}
