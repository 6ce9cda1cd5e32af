// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// exhaustively kills more often: "make chaos" does it.
var exhaustively = flag.Bool("exhaustively", false, "kill 20 bootstraps, and moves at each of their writes, not 4 bootstraps and some moves")

// A bootstrap is killed again and again, at random moments after it has shown something. At the end the platform is
// there, each resource was made once, and nothing else was made.
func TestKilledBootstrapsGoOn(t *testing.T) {
	killedTimes := 4
	if *exhaustively {
		killedTimes = 20
	}
	p := newPlatform(t)
	spec := oneRegion + "  components:\n"
	want := []string{"account", "acme-eu-net-0", "acme-eu-net-1", "acme-eu-node-0", "acme-eu-node-1", "acme-eu-node-2", "acme-eu-cluster-0"}
	// A chain: the platform is not ready before the last kill.
	for i := range 2 * killedTimes {
		name := fmt.Sprintf("part%02d", i)
		p.module(name, objects(name, 1))
		needs := ""
		if i > 0 {
			needs = fmt.Sprintf(", dependsOn: [part%02d]", i-1)
		}
		spec += fmt.Sprintf("  - {name: %s%s}\n", name, needs)
		want = append(want, "acme-eu-"+name+"-0")
	}
	p.write(spec)
	p.cloud.KeepJournal(nil)
	p.cloud.Slow(100 * time.Millisecond)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)) //nolint:gosec // a test
	var slowest time.Duration
	kills := 0
	for kills < killedTimes {
		shown, ended := p.killed(time.Duration(random.Int64N(int64(time.Second))))
		if ended {
			t.Logf("the platform was ready after %d kills", kills)
			break
		}
		slowest = max(slowest, shown)
		kills++
	}
	p.cloud.Slow(0)
	p.makes()
	p.has(want...)
	created := map[string]int{}
	for _, change := range p.cloud.Journal() {
		if wrong := change.Mistaken(); wrong != "" {
			t.Errorf("somebody %s: %s", wrong, change.Name)
		}
		if change.Create {
			created[change.Name]++
		}
	}
	for name, n := range created {
		if n != 1 {
			t.Errorf("%s was created %d times", name, n)
		}
	}
	t.Logf("%d kills, %d objects created; the slowest start until the phases were shown again took %s", kills, len(created), slowest.Round(10*time.Millisecond))
	if kills < killedTimes/2 {
		t.Errorf("only %d kills: the chain is too short for this machine", kills)
	}
}

// killed runs a bootstrap, and kills it some time after its first event. It returns how long that event took; ended is
// true if the platform was ready before.
func (p *platform) killed(after time.Duration) (shown time.Duration, ended bool) {
	p.Helper()
	cmd := p.command(p.from()...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.Fatal(err)
	}
	var news strings.Builder
	cmd.Stderr = &news
	began := time.Now()
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	first, over := make(chan struct{}), make(chan bool, 1)
	go func() {
		done, seen := false, false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var e bootstrapEvent
			done = done || json.Unmarshal(lines.Bytes(), &e) == nil && e.Event == "done" && e.Ready
			if !seen {
				seen = true
				close(first)
			}
		}
		over <- done
	}()
	select {
	case <-first:
		shown = time.Since(began)
		time.Sleep(after) // the moment of the kill is random, not awaited
	case done := <-over:
		if !done {
			cmd.Wait()                                       //nolint:errcheck // the message says more
			log, _ := os.ReadFile(p.home + "/bootstrap.log") //nolint:errcheck // for the message
			p.Fatalf("a bootstrap ended before it showed anything: %s\nserver: %s", news.String(), log[max(0, len(log)-3000):])
		}
		over <- done
	case <-time.After(bootstrapPatience):
		p.Fatalf("a bootstrap shows nothing: %s", news.String())
	}
	cmd.Process.Kill() //nolint:errcheck // it may have ended
	cmd.Wait()         //nolint:errcheck // killed, of course
	return shown, <-over
}

// A second bootstrap on the same directory says who runs, and changes nothing.
func TestASecondBootstrapSaysWhoRuns(t *testing.T) {
	p := newPlatform(t)
	p.write(strings.Replace(oneRegion, "approval: Auto", "approval: Manual", 1))
	first := p.command(p.from()...)
	out, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	waiting := false
	for lines := bufio.NewScanner(out); !waiting && lines.Scan(); {
		waiting = strings.Contains(lines.Text(), `"AwaitingApproval"`)
	}
	if !waiting {
		t.Fatal("no plan waits for approval")
	}
	_, said, code := p.run(p.from()...)
	if code != 6 || !strings.Contains(said, fmt.Sprintf("the bootstrap of acme.example.org is running on %s: process %d", p.home, first.Process.Pid)) {
		t.Errorf("exit code %d, said %s", code, said)
	}
	// Others can look meanwhile, and Ctrl-C says how to go on.
	status := p.command("status", "acme")
	if text, err := status.CombinedOutput(); err != nil || !strings.Contains(string(text), "eu/network") || !strings.Contains(string(text), "waits for approval") {
		t.Errorf("%v: %s", err, text)
	}
	first.Process.Signal(os.Interrupt) //nolint:errcheck // the exit code tells
	first.Wait()                       //nolint:errcheck // the exit code tells
	if code := first.ProcessState.ExitCode(); code != 130 {
		t.Errorf("after Ctrl-C the exit code is %d", code)
	}
	if n := len(p.cloud.Names("acme-")); n > 0 {
		t.Errorf("%d objects were made without approval", n)
	}
	// With --yes the plans are approved.
	p.makes("--yes")
}
