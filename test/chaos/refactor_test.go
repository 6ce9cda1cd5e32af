// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
	"github.com/yuba-dev/yuba/internal/tofu/state/reshape"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

const (
	refactorNamespace = "reshaped"
	movedResources    = 40
)

// TestKillsDuringARefactoring: resources move to and fro between three states, and the server is killed
// at a random moment each time. Afterwards each refactoring stands in all states or in none, nothing is
// lost or doubled, and no lock stays.
func TestKillsDuringARefactoring(t *testing.T) {
	rng := rand.New(rand.NewPCG(newSeed(t), 25))
	y := newYuba(t)
	y.up()
	y.newNamespace(refactorNamespace)
	stacks := []string{"a", "b", "c"}
	for _, name := range stacks {
		suspendedStack(t, y, name)
	}
	c, err := content.NewClient(y.config())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Change(t.Context(), refactorNamespace, "a", run.StateChange{Verb: run.StatePush, State: manyResources()}, ""); err != nil {
		t.Fatal(err)
	}
	phases := map[reshape.Phase]int{}
	killed := 0
	for i := range *killsFlag {
		before := y.spread(t, c, stacks)
		r := y.proposeRandom(t, c, rng, before, stacks, i)
		end := make(chan error, 1)
		go func() {
			_, err := c.ApplyRefactoring(t.Context(), refactorNamespace, r.ID, content.Acceptance{Unpreviewed: true})
			end <- err
		}()
		time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
		y.signalServer(syscall.SIGKILL)
		if err := <-end; err != nil {
			killed++
		}
		phase := y.settled(t, c, r.ID)
		phases[phase]++
		after := y.spread(t, c, stacks)
		want := before
		if phase == reshape.Applied {
			want = afterMoves(before, r.Moved)
		}
		for _, name := range stacks {
			if !slices.Equal(after[name], want[name]) {
				t.Fatalf("refactoring %s is %s, and %s has %d resources, want %d", r.ID, phase, name, len(after[name]), len(want[name]))
			}
		}
		y.unlocked(t)
	}
	t.Logf("%d kills, %d of them in the middle of a request: %v", *killsFlag, killed, phases)
	if killed == 0 {
		t.Error("no kill hit a request")
	}
}

func suspendedStack(t *testing.T, y *yuba, name string) {
	t.Helper()
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: refactorNamespace, Name: name},
		Spec: infrav1.TerraformSpec{Suspend: true, Interval: metav1.Duration{Duration: time.Hour}, Inline: map[string]string{"main.tf": ""}}}
	if err := y.client().Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

func manyResources() []byte {
	var list []string
	for i := range movedResources {
		list = append(list, fmt.Sprintf(`{"mode":"managed","type":"terraform_data","name":"n%d","provider":"provider[\"terraform.io/builtin/terraform\"]","instances":[{"schema_version":0,"attributes":{"id":"%d","input":null,"output":null,"triggers_replace":null}}]}`, i, i))
	}
	return fmt.Appendf(nil, `{"version":4,"terraform_version":"1.12.0","serial":1,"lineage":"0d7cf0a5-7a35-4c0b-9e0d-222222222222","outputs":{},"resources":[%s]}`, strings.Join(list, ","))
}

// spread is which state has which resources.
func (y *yuba) spread(t *testing.T, c *content.Client, stacks []string) map[string][]string {
	t.Helper()
	found, total := map[string][]string{}, 0
	for _, name := range stacks {
		data, err := c.State(t.Context(), refactorNamespace, name, "")
		if err != nil {
			if strings.Contains(err.Error(), "does not have a state yet") {
				continue
			}
			t.Fatal(err)
		}
		file, err := statefile.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range file.Resources {
			found[name] = append(found[name], r.Address)
		}
		slices.Sort(found[name])
		total += len(found[name])
	}
	if total != movedResources {
		t.Fatalf("%d resources became %d", movedResources, total)
	}
	return found
}

// proposeRandom proposes to move some resources of each state to another one.
func (y *yuba) proposeRandom(t *testing.T, c *content.Client, rng *rand.Rand, spread map[string][]string, stacks []string, round int) reshape.Record {
	t.Helper()
	var steps []moves.Step
	for i, name := range stacks {
		for n, address := range spread[name] {
			if n%3 != rng.IntN(3) && len(steps) > 0 {
				continue
			}
			to := stacks[(i+1+rng.IntN(2))%len(stacks)]
			steps = append(steps, moves.Step{Verb: moves.Move, State: name, From: address, ToState: to, To: address})
		}
	}
	r, err := c.ProposeRefactoring(t.Context(), refactorNamespace, content.Refactoring{Steps: steps})
	if err != nil {
		t.Fatalf("round %d: %v", round, err)
	}
	return r
}

func afterMoves(before map[string][]string, moved []moves.Moved) map[string][]string {
	after := map[string][]string{}
	for name, list := range before {
		after[name] = slices.Clone(list)
	}
	for _, m := range moved {
		after[m.State] = slices.DeleteFunc(after[m.State], func(a string) bool { return a == m.Address })
		after[m.ToState] = append(after[m.ToState], m.To)
	}
	for name := range after {
		slices.Sort(after[name])
	}
	return after
}

// settled waits until the next server has gone on with a refactoring.
func (y *yuba) settled(t *testing.T, c *content.Client, id string) reshape.Phase {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		y.awaitReady()
		r, err := c.Refactoring(t.Context(), refactorNamespace, id)
		if err == nil && !r.Phase.Open() && y.serverAnswers(t, c) {
			return r.Phase
		}
	}
	t.Fatalf("refactoring %s does not settle; see %s", id, y.base)
	return ""
}

// serverAnswers reports whether all states can be read: a server that was just killed answers nothing.
func (y *yuba) serverAnswers(t *testing.T, c *content.Client) bool {
	_, err := c.State(t.Context(), refactorNamespace, "a", "")
	return err == nil
}

// unlocked checks that nobody holds a lock.
func (y *yuba) unlocked(t *testing.T) {
	t.Helper()
	var leases coordinationv1.LeaseList
	if err := y.client().List(t.Context(), &leases, client.InNamespace(refactorNamespace)); err != nil {
		t.Fatal(err)
	}
	for i := range leases.Items {
		if holder := state.HolderOf(&leases.Items[i]); holder != nil {
			t.Errorf("%s is held by %s", leases.Items[i].Name, holder.ID)
		}
	}
}
