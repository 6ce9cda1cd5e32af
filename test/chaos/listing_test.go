// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
	"github.com/yuba-dev/yuba/test/cloud"
)

// run runs a command of the program under test.
func (y *yuba) run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "yuba"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+y.kubeconfig)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// unsettledListing is unsettled for faults that destroy evidence: unwanted objects may remain in
// the cloud if they are listed. It also returns the messages that ask people to act.
func (s *storm) unsettledListing(ctx context.Context) (open, messages []string, err error) {
	var list infrav1.TerraformList
	if err := s.client.List(ctx, &list, client.InNamespace(s.y.namespace)); err != nil {
		return nil, nil, err
	}
	wanted := map[string]bool{}
	for _, st := range s.stacks {
		wanted[st.name] = true
	}
	for _, obj := range list.Items {
		ready := apimeta.FindStatusCondition(obj.Status.Conditions, infrav1.ConditionReady)
		switch {
		case ready == nil:
			open = append(open, obj.Name+" says nothing of itself")
			continue
		case !wanted[obj.Name]:
			open = append(open, obj.Name+" is to go: "+ready.Message)
		case obj.Status.ObservedGeneration != obj.Generation || obj.Status.CurrentRun != nil || ready.Status != metav1.ConditionTrue:
			open = append(open, fmt.Sprintf("%s: generation %d of %d, %s: %s", obj.Name, obj.Status.ObservedGeneration, obj.Generation, ready.Reason, ready.Message))
		}
		messages = append(messages, ready.Message)
		delete(wanted, obj.Name)
	}
	for name := range wanted {
		open = append(open, name+" is not there")
	}
	have := s.has()
	for name, content := range s.wants() {
		if have[name] != content {
			open = append(open, fmt.Sprintf("object %s has the content %q, not %q", name, have[name], content))
		}
	}
	runs, err := entries(filepath.Join(s.y.dir, "runner", "runs"))
	for _, name := range runs {
		open = append(open, "run "+name+" is in the spool")
	}
	return open, messages, err
}

// settleListing waits until everything is in the expected state, and meanwhile does what people are
// asked to do.
func (s *storm) settleListing(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	s.y.awaitReady()
	ctx, cancel := context.WithTimeout(t.Context(), *settleFlag)
	defer cancel()
	asked := map[string]bool{}
	for {
		open, messages, err := s.unsettledListing(ctx)
		if err == nil && len(open) == 0 {
			return time.Since(began)
		}
		for _, m := range messages {
			if !asked[m] {
				asked[m] = true
				s.person(t, m)
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("after %s not everything has settled (%v):\n%s", *settleFlag, err, strings.Join(open, "\n"))
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// listing contains the lists in the runs of a stack, and in its status.
type listing struct {
	// exist and gone are the resource instances that may exist, or may be gone; whole is true if a run
	// says that it does not know which.
	exist, gone map[string]bool
	whole       bool
}

// lists reports whether a list contains an address.
func (l listing) lists(among map[string]bool, address string) bool {
	resource, _, _ := strings.Cut(address, "[")
	return l.whole || among[address] || among[resource]
}

func (s *storm) listings(t *testing.T) map[string]listing {
	t.Helper()
	c, err := content.NewClient(s.y.config())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]listing{}
	for _, st := range s.stacks {
		found[st.name] = s.listingOf(t, c, st.name)
	}
	return found
}

func (s *storm) listingOf(t *testing.T, c *content.Client, name string) listing {
	t.Helper()
	l := listing{exist: map[string]bool{}, gone: map[string]bool{}}
	records, err := c.Runs(t.Context(), s.y.namespace, name, 500)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records.Items {
		if r.Result != nil {
			l.take(r.Result)
		}
	}
	var obj infrav1.Terraform
	if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: s.y.namespace, Name: name}, &obj); err != nil {
		t.Fatal(err)
	}
	if u := obj.Status.Unproven; u != nil { // of a run whose record is lost only the status knows
		for _, r := range u.Resources {
			l.add(r.Address, r.MayExist, r.MayBeGone)
		}
		for _, r := range u.Runs {
			l.whole = l.whole || r.Note != ""
		}
	}
	return l
}

func (l *listing) take(r *run.Result) {
	for _, u := range r.Unproven {
		l.add(u.Address, u.MayExist, u.MayBeGone)
	}
	l.whole = l.whole || r.UnprovenNote != "" || r.UnprovenMore > 0
}

func (l *listing) add(address string, exists, gone bool) {
	if exists {
		l.exist[address] = true
	}
	if gone {
		l.gone[address] = true
	}
}

// auditListing checks that everything the faults left is in a state or listed, that nothing is
// listed that a state proves, and that lists can be acknowledged.
func (s *storm) auditListing(t *testing.T) {
	t.Helper()
	listings := s.listings(t)
	wants := s.wants()
	for name := range s.has() {
		_, wanted := wants[name]
		l, known := listings[stackOf(name)]
		if !wanted && (!known || !l.lists(l.exist, addressOf(name))) {
			t.Errorf("object %s exists, is in no state, and no run lists it", name)
		}
	}
	for i, change := range s.cloud.Journal() {
		s.auditChange(t, i, change, listings)
	}
	for _, st := range s.stacks {
		s.auditStanding(t, st)
	}
}

// auditChange checks that changes based on wrong assumptions had been listed before.
func (s *storm) auditChange(t *testing.T, i int, change cloud.Change, listings map[string]listing) {
	t.Helper()
	what := change.Mistaken()
	l, known := listings[stackOf(change.Name)]
	if what == "" || !known && slices.Contains(s.gone, stackOf(change.Name)) {
		return // a deleted stack has no list any more
	}
	among := l.gone
	if change.Create {
		among = l.exist
	}
	if !l.lists(among, addressOf(change.Name)) {
		t.Errorf("change %d: %s %s: %s, and no run said that this may be so", i, change.Method, change.Name, what)
	}
}

// auditStanding checks the final list in a stack's status, and that an acknowledgement clears it.
func (s *storm) auditStanding(t *testing.T, st *stack) {
	t.Helper()
	var obj infrav1.Terraform
	key := client.ObjectKey{Namespace: s.y.namespace, Name: st.name}
	if err := s.client.Get(t.Context(), key, &obj); err != nil {
		t.Fatal(err)
	}
	u := obj.Status.Unproven
	stands := apimeta.IsStatusConditionTrue(obj.Status.Conditions, infrav1.ConditionUnproven)
	if stands != (u != nil) {
		t.Errorf("%s: the condition is %v, and listed is %+v", st.name, stands, u)
	}
	if u == nil {
		return
	}
	has := s.addressesOf(t, st)
	for _, r := range u.Resources {
		if r.MayExist && r.RemadeBy == "" && has[r.Address] && !r.MayBeGone && !r.Replaces {
			t.Errorf("%s lists %s of run %s, which its state has, and which nobody made once more", st.name, r.Address, r.Run)
		}
	}
	if out, err := s.y.run(t.Context(), "acknowledge", st.name, "--yes", "-n", s.y.namespace); err != nil {
		t.Errorf("acknowledge %s: %v\n%s", st.name, err, out)
	}
	deadline := time.Now().Add(patience)
	for {
		if err := s.client.Get(t.Context(), key, &obj); err != nil {
			t.Fatal(err)
		}
		if obj.Status.Unproven == nil && apimeta.FindStatusCondition(obj.Status.Conditions, infrav1.ConditionUnproven) == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s still lists %+v", st.name, obj.Status.Unproven)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// addressesOf are the resource instances in a stack's state.
func (s *storm) addressesOf(t *testing.T, st *stack) map[string]bool {
	t.Helper()
	data := s.cloud.State(st.name)
	if !st.own {
		c, err := content.NewClient(s.y.config())
		if err != nil {
			t.Fatal(err)
		}
		if data, err = c.State(t.Context(), s.y.namespace, st.name, ""); err != nil {
			t.Fatal(err)
		}
	}
	file, err := statefile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, r := range file.Resources {
		has[r.Address] = true
	}
	return has
}
