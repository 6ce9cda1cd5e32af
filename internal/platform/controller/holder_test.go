// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// rival creates a platform with the blueprint of another one, in another namespace.
func (w *world) rival(first *yubav1.Platform, changes ...func(*yubav1.PlatformSpec)) (*world, *yubav1.Platform) {
	w.Helper()
	theirs := &world{T: w.T, Client: w.Client, namespace: apitest.Namespace(w.T)}
	p := theirs.platform("rival", first.Spec.Domain.FQDN, changes...)
	return theirs, p
}

// pool creates a pool of all names below a domain.
func (w *world) pool(namespace string) {
	w.Helper()
	p := &yubav1.SubdomainPool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pool"},
		Spec: yubav1.SubdomainPoolSpec{Domain: w.domain(), Whole: true, Manual: &yubav1.ManualDNS{Resolver: "192.0.2.66:53"}}}
	if err := w.Create(w.Context(), p); err != nil {
		w.Fatal(err)
	}
}

// claim creates a committed claim of the domain.
func (w *world) claim(namespace, poolNamespace string) {
	w.Helper()
	c := &yubav1.SubdomainClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "name"}, Spec: yubav1.SubdomainClaimSpec{Name: "any"}}
	c.Spec.PoolRef.Name, c.Spec.PoolRef.Namespace = "pool", poolNamespace
	if err := w.Create(w.Context(), c); err != nil {
		w.Fatal(err)
	}
	c.Status.Phase, c.Status.Domain = yubav1.SubdomainCommitted, w.domain()
	if err := w.Status().Update(w.Context(), c); err != nil {
		w.Fatal(err)
	}
}

// A platform that makes nothing: whoever proves the name with a claim gets it.
func TestAClaimProvesAName(t *testing.T) {
	w := newWorld(t)
	w.pool(w.namespace)
	first := w.platform("first", w.domain())
	w.await(first, yubav1.ReasonPlatformProgressing, "")
	theirs, second := w.rival(first)
	w.await(second, yubav1.ReasonPlatformDomainTaken, "A platform of another namespace has the same DNS name: it was first, and may begin until")
	w.claim(theirs.namespace, w.namespace)
	w.await(second, yubav1.ReasonPlatformProgressing, "0/5 ready")
	w.await(first, yubav1.ReasonPlatformDomainTaken, "a SubdomainClaim of its namespace has the name. Choose another name, or release that claim")
	if w.stack("first-eu-network") == nil {
		t.Error("the stacks of the first platform are not left alone")
	}
	// It may go nevertheless: its stacks are its own.
	w.change(first, func(s *yubav1.PlatformSpec) { s.Decommission = true })
	w.await(first, yubav1.ReasonPlatformDecommissioned, "Nothing of the platform is left")
	w.await(second, yubav1.ReasonPlatformProgressing, "0/5 ready")
}

// People can make a pool of any domain, with a server of their own.
func TestAClaimOfAnotherPoolProvesNothing(t *testing.T) {
	w := newWorld(t)
	w.pool("default") // that of the domain
	first := w.platform("first", w.domain())
	w.await(first, yubav1.ReasonPlatformProgressing, "")
	theirs, second := w.rival(first)
	w.pool(theirs.namespace)
	w.claim(theirs.namespace, "")
	w.claim(w.namespace, "default")
	w.await(second, yubav1.ReasonPlatformDomainTaken, "a SubdomainClaim of its namespace has the name")
	w.await(first, yubav1.ReasonPlatformProgressing, "0/5 ready")
}

// A platform that runs keeps its name, whatever others say about themselves with their own pool, resolver, stacks and
// blueprint.
func TestNobodyTakesTheNameOfARunningPlatform(t *testing.T) {
	w := newWorld(t)
	first := w.platform("first", w.domain())
	w.await(first, yubav1.ReasonPlatformProgressing, "")
	w.becomes("first-eu-network", metav1.ConditionTrue, infrav1.ReasonOutputsWritten, "")
	w.await(first, yubav1.ReasonPlatformProgressing, "1/5 ready")
	theirs, second := w.rival(first, func(s *yubav1.PlatformSpec) { s.Domain.Manual = &yubav1.PlatformManualDNS{Resolver: "192.0.2.54:53"} })
	const keeps = ", and keeps it. Choose another name, or decommission or delete that platform"
	w.await(second, yubav1.ReasonPlatformDomainTaken, keeps)

	w.pool(theirs.namespace)
	w.claim(theirs.namespace, "")
	stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: theirs.namespace, Name: "rival-eu-machines",
		Labels: map[string]string{yubav1.LabelPlatform: "rival", yubav1.LabelPlatformRegion: "eu", yubav1.LabelPlatformPhase: "machines"}}}
	stack.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: "ExternalArtifact", Name: "modules"}
	if err := w.Create(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	theirs.becomes(stack.Name, metav1.ConditionTrue, infrav1.ReasonOutputsWritten, "")
	theirs.addresses(stack.Name, `{"addresses": ["192.0.2.1"]}`)
	theirs.records(second, "", "")
	// A blueprint that cannot be made is not DomainTaken, and still has no name.
	w.change(second, func(s *yubav1.PlatformSpec) { s.Library = nil })
	w.await(second, yubav1.ReasonPlatformInvalid, "")
	w.change(second, func(s *yubav1.PlatformSpec) { s.Library = first.Spec.Library.DeepCopy() })
	w.await(second, yubav1.ReasonPlatformDomainTaken, keeps)

	// A pass of the first, after all that: it changes its stack, which nothing processes here.
	w.change(first, func(s *yubav1.PlatformSpec) { s.Approval = yubav1.ApprovalAuto })
	w.await(first, yubav1.ReasonPlatformProgressing, "the stack is not processed yet")
	if held := conditions.Of(first, yubav1.ConditionDomainHeld); held.Status != metav1.ConditionTrue {
		t.Errorf("the first platform does not have its name: %s", held.Message)
	}
}

// A stack with the labels of a platform makes it look as if it had begun. That takes no name from one that has reserved it, and
// neither does a claim of a pool that was made for it.
func TestNobodyTakesAReservedName(t *testing.T) {
	w := newWorld(t)
	first := w.platform("first", w.domain())
	w.await(first, yubav1.ReasonPlatformProgressing, "0/5 ready")
	if held := conditions.Of(first, yubav1.ConditionDomainHeld); held.Status != metav1.ConditionTrue || !strings.Contains(held.Message, w.domain()) {
		t.Fatalf("the name is not reserved: %+v", held)
	}
	theirs := &world{T: t, Client: w.Client, namespace: apitest.Namespace(t)}
	for _, phase := range []string{"network", "machines"} {
		stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: theirs.namespace, Name: "rival-eu-" + phase,
			Labels: map[string]string{yubav1.LabelPlatform: "rival", yubav1.LabelPlatformRegion: "eu", yubav1.LabelPlatformPhase: phase}}}
		stack.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: "ExternalArtifact", Name: "modules"}
		if err := w.Create(t.Context(), stack); err != nil {
			t.Fatal(err)
		}
		theirs.becomes(stack.Name, metav1.ConditionTrue, infrav1.ReasonOutputsWritten, "")
	}
	second := theirs.platform("rival", w.domain())
	w.await(second, yubav1.ReasonPlatformDomainTaken, "it was first, and may begin until")
	if begun := second.Status.Phases[0].StartedAt; begun == nil {
		t.Fatal("the second platform does not look begun: the test proves nothing")
	}
	time.Sleep(time.Until(conditions.Of(first, yubav1.ConditionDomainHeld).LastTransitionTime.Add(time.Second))) // times have whole seconds
	w.pool(theirs.namespace)
	w.claim(theirs.namespace, "")
	w.change(second, func(s *yubav1.PlatformSpec) { s.Approval = yubav1.ApprovalAuto })
	w.await(second, yubav1.ReasonPlatformDomainTaken, "of a pool that is older than this reservation")
	w.change(first, func(s *yubav1.PlatformSpec) { s.Approval = yubav1.ApprovalAuto })
	w.await(first, yubav1.ReasonPlatformProgressing, "0/5 ready")
}

// Of platforms that are created at the same moment, one has the name, and it stays the same.
func TestOnePlatformOfManyHasAName(t *testing.T) {
	w := newWorld(t)
	const many = 6
	var all []*yubav1.Platform
	var made sync.WaitGroup
	for i := range many {
		p := &yubav1.Platform{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("p%d", many-i)}}
		p.Spec = w.spec(w.domain())
		all = append(all, p)
		made.Go(func() {
			if err := w.Create(t.Context(), p); err != nil {
				t.Error(err)
			}
		})
	}
	made.Wait()
	holders := func() (names []string, decided int) {
		for _, p := range all {
			if err := w.Get(t.Context(), client.ObjectKeyFromObject(p), p); err != nil {
				t.Fatal(err)
			}
			switch conditions.Of(p, yubav1.ConditionDomainHeld).Status {
			case metav1.ConditionTrue:
				names = append(names, p.Name)
				decided++
			case metav1.ConditionFalse:
				decided++
			}
		}
		return names, decided
	}
	w.eventually("all are decided about", func() string {
		if names, decided := holders(); decided < many || len(names) != 1 {
			return fmt.Sprintf("%d are, and %q have the name", decided, names)
		}
		return ""
	})
	first, _ := holders()
	for _, p := range all {
		w.change(p, func(s *yubav1.PlatformSpec) { s.Approval = yubav1.ApprovalAuto })
	}
	for _, p := range all {
		w.eventually(p.Name+" has another pass", func() string {
			if err := w.Get(t.Context(), client.ObjectKeyFromObject(p), p); err != nil || p.Status.ObservedGeneration < p.Generation {
				return fmt.Sprint("not yet: ", err)
			}
			return ""
		})
	}
	if again, _ := holders(); len(again) != 1 || again[0] != first[0] {
		t.Errorf("first %q had the name, and then %q", first, again)
	}
	for i := 1; i <= many; i++ {
		if s := w.stack(fmt.Sprintf("p%d-eu-network", i)); (s != nil) != (fmt.Sprintf("p%d", i) == first[0]) {
			t.Errorf("p%d has stacks: %v; the name is of %s", i, s != nil, first[0])
		}
	}
}
